"""Draws docs/guide/iris.svg: iris without and with answers. Usage: python3 scripts/iris-picture.py PATH-TO-KINFOLD"""
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent
kinfold, iris = sys.argv[1], root / "examples/iris.csv"
rows = list(csv.DictReader(iris.open()))
# Okabe and Ito's colours, told apart by colour-blind readers; shapes show the true species.
colours = ["#0072B2", "#E69F00", "#009E73"]
species = sorted({r["species"] for r in rows})


def run(*args):
    return subprocess.run([kinfold, *map(str, args)], check=True, capture_output=True, text=True).stdout


with tempfile.TemporaryDirectory() as place:
    answers = pathlib.Path(place) / "answers.csv"
    run("simulate", iris, "--truth", "species", "--protocol", "balanced", "--amount", "n/2", "--seed", 1, "-o", answers)
    pairs = list(csv.DictReader(answers.open()))
    common = ["cluster", iris, "-k", 3, "--truth", "species", "-c", answers, "--json", "-q"]
    results = [json.loads(run(*common, "--method", m)) for m in ("kmeans", "auto")]

W, H, PAD = 430, 330, 46
x = lambda r: PAD + (float(r["petal_length"]) - 0.8) / 6.4 * (W - PAD - 12)
y = lambda r: H - 34 - (float(r["petal_width"]) - 0.0) / 2.6 * (H - 34 - 64)


def mark(r, colour):
    cx, cy = x(r), y(r)
    kind = species.index(r["species"])
    if kind == 0:
        return f'<circle cx="{cx:.1f}" cy="{cy:.1f}" r="3.6" fill="{colour}"/>'
    if kind == 1:
        return f'<rect x="{cx-3.3:.1f}" y="{cy-3.3:.1f}" width="6.6" height="6.6" fill="{colour}"/>'
    return f'<path d="M{cx:.1f} {cy-4.4:.1f}l4.2 7.4h-8.4z" fill="{colour}"/>'


parts = []
titles = ["plain k-means", "kinfold, listening to 75 answers"]
for panel, (result, title) in enumerate(zip(results, titles)):
    labels, scores = result["labels"], result["scores"]
    # A cluster takes the colour of the species it mostly holds.
    colour = {}
    for c in sorted(set(labels), key=lambda c: -labels.count(c)):
        held = [species.index(r["species"]) for r, l in zip(rows, labels) if l == c]
        for s in sorted(range(3), key=lambda s: -held.count(s)):
            if colours[s] not in colour.values():
                colour[c] = colours[s]
                break
    broken = 0
    lines = []
    for p in pairs:
        a, b = int(p["id_a"]), int(p["id_b"])
        kept = (labels[a] == labels[b]) == (p["answer"] == "same")
        broken += not kept
        style = 'stroke="#bbb" stroke-width=".7"' if kept else 'stroke="#D55E00" stroke-width="1.6"'
        dash = "" if p["answer"] == "same" else ' stroke-dasharray="3 3"'
        line = f'<line x1="{x(rows[a]):.1f}" y1="{y(rows[a]):.1f}" x2="{x(rows[b]):.1f}" y2="{y(rows[b]):.1f}" {style}{dash}/>'
        lines.append((not kept, line))
    body = [line for _, line in sorted(lines)] + [mark(r, colour[l]) for r, l in zip(rows, labels)]
    right = 100 * scores["consistency"]
    answers_text = "every answer kept" if broken == 0 else f"{broken} answers broken (thick lines)"
    parts.append(
        f'<g transform="translate({panel * W} 0)"><text x="{PAD}" y="22" font-size="15" font-weight="600">{title}</text>'
        f'<text x="{PAD}" y="42" font-size="12" fill="#555">{right:.0f} % of the flowers in the right group, {answers_text}</text>'
        f'<path d="M{PAD} 54V{H-34}H{W-12}" fill="none" stroke="#999"/>'
        f'<text x="{(PAD+W)/2:.0f}" y="{H-12}" font-size="11" fill="#555" text-anchor="middle">petal length</text>'
        f'<text x="16" y="{(54+H-34)/2:.0f}" font-size="11" fill="#555" text-anchor="middle" transform="rotate(-90 16 {(54+H-34)/2:.0f})">petal width</text>'
        + "".join(body) + "</g>"
    )
legend = "colour: cluster · shape: true species · line: an answer (dashed = different)"
svg = (
    f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2*W} {H+24}" font-family="system-ui,sans-serif" fill="#222">'
    f'<rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}'
    f'<text x="{W}" y="{H+12}" font-size="11" fill="#555" text-anchor="middle">{legend}</text></svg>\n'
)
(root / "docs/guide/iris.svg").write_text(svg)
