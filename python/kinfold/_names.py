"""Names of methods and parameters in Python. Nothing is imported here, so that build scripts can use it too."""

import keyword

# Words that are words; the others in the names of methods are abbreviations.
_WORDS = {
    "boost", "cluster", "constrained", "dist", "dual", "exact", "fair", "fast", "fold", "greedy", "hard", "hidden",
    "kernel", "link", "local", "means", "metric", "random", "search", "seeded", "size", "soft", "spectral", "tree",
}  # fmt: skip
_SPELT = {"kmeans": "KMeans", "kmedoids": "KMedoids"}
# `ConstrainedKMeans` is the k-means that keeps every constraint; Basu's variant of seeding goes by its idea.
_CLASSES = {"mlcl": "ConstrainedKMeans", "constrained-kmeans": "ConstrainedSeededKMeans"}
_PARAMETERS = {"lambda": "lam"}


def class_name(method: str) -> str:
    """`cop-kmeans` → `COPKMeans`."""
    if method in _CLASSES:
        return _CLASSES[method]
    return "".join(_SPELT.get(w) or (w.capitalize() if w in _WORDS else w.upper()) for w in method.split("-"))


def parameter_name(name: str) -> str:
    """A parameter's name where Python's own words and scikit-learn's underscores allow it."""
    name = _PARAMETERS.get(name, name)
    return name + "_value" if keyword.iskeyword(name) or name.endswith("_") else name


def default(sort: str, text: str):
    """A default of the tables as a Python value."""
    if sort == "a whole number":
        return int(text)
    if sort == "a number":
        return float(text)
    if sort == "yes or no":
        return text == "yes"
    return text


def annotation(sort: str) -> str:
    """The type of such a value."""
    known = {"a whole number": "int", "a number": "float", "yes or no": "bool"}
    if sort in known:
        return known[sort]
    choices = [c.strip() for c in sort.split("|")]
    return "Literal[" + ", ".join(f'"{c}"' for c in choices) + "]" if len(choices) > 1 else "str"


# Parameters that every estimator has, before its own: name, type, default, meaning.
COMMON = [
    ("n_clusters", "int", 8, "Number of clusters."),
]
# ... and after its own.
SHARED = [
    ("scale", "str | None", None, "none, standard, robust, unit or tf-idf; None leaves the choice to the method."),
    ("metric_learner", "str | None", None, "A metric to learn from the constraints first, by name."),
    ("metric_params", "dict[str, object] | None", None, "Settings of that metric."),
    ("trust", 'Literal["auto", "hard", "soft"]', "auto", "How far the constraints are believed."),
    ("random_state", "int | np.random.RandomState | np.random.Generator | None", 0,
     "The seed: the same number gives the same bytes, here and on the command line."),
    ("n_jobs", "int | None", None, "Threads; None or -1 for all cores. Results do not depend on it."),
    ("time_limit", "float | None", None, "Seconds after which the best result so far is taken."),
    ("memory_limit", "int | None", None, "Bytes that the method may use beside the rows; None for half of the machine's."),
    ("progress", 'bool | Literal["auto"] | Callable[[str, int, int | None], object]', "auto",
     "A progress bar after one second: always, never, in terminals and notebooks, or a function to call."),
]  # fmt: skip
# Parameters that metric learners share.
LEARNERS = [p for p in SHARED if p[0] in ("random_state", "n_jobs", "time_limit", "progress")]
SIZES = [
    ("min_size", "int | None", None, "Fewest rows of a cluster."),
    ("max_size", "int | None", None, "Most rows of a cluster."),
]


def signature(method: dict) -> list[tuple[str, str, object, str]]:
    """All parameters of the estimator of a method: name, type, default, meaning."""
    return [*COMMON, *own_parameters(method), *(SIZES if method["sizes"] else []), *SHARED]


def metric_signature(metric: dict) -> list[tuple[str, str, object, str]]:
    """All parameters of the transformer of a metric."""
    return [*own_parameters(metric), *LEARNERS]


def own_parameters(entry: dict) -> list[tuple[str, str, object, str]]:
    """The parameters of an entry of the tables."""
    own = []
    for p in entry["parameters"]:
        text = p["help"]
        if p.get("range"):
            low, high = p["range"]
            high = "up" if high is None or high == float("inf") else f"to {high:g}"
            text = f"{text} From {low:g} {high}."
        own.append((parameter_name(p["name"]), annotation(p["sort"]), default(p["sort"], p["default"]), text))
    return own
