#!/usr/bin/env python3
"""Quotes the summary of docs/results/README.md (written by `kinfold-lab bench --publish docs/results`) in README.md.

With --check nothing is written and the exit code is 1 when the quotation is out of date.
"""

import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
readme = root / "README.md"
results = root / "docs" / "results" / "README.md"

quote = "The full measurement is not published yet: `kinfold-lab bench` makes it, [docs/data.md](docs/data.md) names the data."
if results.exists():
    found = re.search(r"<!-- summary -->\n(.*?)\n<!-- /summary -->", results.read_text(), re.S)
    if not found:
        sys.exit(f"{results}: there is no summary between <!-- summary --> and <!-- /summary -->")
    quote = found[1]

text = readme.read_text()
new, count = re.subn(r"(<!-- results -->\n).*?(\n<!-- /results -->)", lambda m: m[1] + quote + m[2], text, flags=re.S)
if count != 1:
    sys.exit(f"{readme}: there must be one <!-- results --> … <!-- /results -->")
if new != text:
    if "--check" in sys.argv[1:]:
        sys.exit("README.md does not quote docs/results/README.md: run scripts/docs")
    readme.write_text(new)
