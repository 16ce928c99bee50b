# Made by scripts/docs from the engine's tables; do not edit.
from collections.abc import Callable
from typing import Literal

import numpy as np

from . import display as display, exceptions as exceptions, indices as indices
from ._base import Clusterer as _Clusterer, MetricLearner as _MetricLearner
from ._choose import KChoice as KChoice, choose_k as choose_k
from ._constraints import ConflictReport as ConflictReport, Constraints as Constraints, Violations as Violations
from ._dialogue import Dialogue as Dialogue, learning_curve as learning_curve, strategies as strategies
from ._estimators import estimator as estimator, load as load, methods as methods, metrics as metrics
from ._select import select as select
from ._simulate import simulate as simulate

__version__: str

class Fold(_Clusterer):
    """the default: finds the space in which the constraints make sense, keeps every one of them"""

    n_clusters: int
    restarts: int
    folds: int
    sample: int
    max_iter: int
    min_size: int | None
    max_size: int | None
    scale: str | None
    metric_learner: str | None
    metric_params: dict[str, object] | None
    trust: Literal["auto", "hard", "soft"]
    random_state: int | np.random.RandomState | np.random.Generator | None
    n_jobs: int | None
    time_limit: float | None
    memory_limit: int | None
    progress: bool | Literal["auto"] | Callable[[str, int, int | None], object]
    def __init__(
        self,
        n_clusters: int = 8,
        *,
        restarts: int = 6,
        folds: int = 0,
        sample: int = 2000,
        max_iter: int = 100,
        min_size: int | None = None,
        max_size: int | None = None,
        scale: str | None = None,
        metric_learner: str | None = None,
        metric_params: dict[str, object] | None = None,
        trust: Literal["auto", "hard", "soft"] = 'auto',
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        progress: bool | Literal["auto"] | Callable[[str, int, int | None], object] = 'auto',
    ) -> None: ...

class KMeans(_Clusterer):
    """plain k-means: the fast baseline that ignores constraints"""

    n_clusters: int
    restarts: int
    max_iter: int
    tolerance: float
    init: Literal["greedy-kmeans++", "kmeans++", "random"]
    scale: str | None
    metric_learner: str | None
    metric_params: dict[str, object] | None
    trust: Literal["auto", "hard", "soft"]
    random_state: int | np.random.RandomState | np.random.Generator | None
    n_jobs: int | None
    time_limit: float | None
    memory_limit: int | None
    progress: bool | Literal["auto"] | Callable[[str, int, int | None], object]
    def __init__(
        self,
        n_clusters: int = 8,
        *,
        restarts: int = 0,
        max_iter: int = 300,
        tolerance: float = 0.0,
        init: Literal["greedy-kmeans++", "kmeans++", "random"] = 'greedy-kmeans++',
        scale: str | None = None,
        metric_learner: str | None = None,
        metric_params: dict[str, object] | None = None,
        trust: Literal["auto", "hard", "soft"] = 'auto',
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        progress: bool | Literal["auto"] | Callable[[str, int, int | None], object] = 'auto',
    ) -> None: ...

class COPKMeans(_Clusterer):
    """k-means that places rows one by one where no constraint breaks, and does not give up at a dead end"""

    n_clusters: int
    restarts: int
    max_iter: int
    init: Literal["greedy-kmeans++", "kmeans++", "random"]
    order: Literal["input", "random", "most-constrained"]
    unit: Literal["block", "point"]
    on_dead_end: Literal["retry", "strict"]
    retries: int
    scale: str | None
    metric_learner: str | None
    metric_params: dict[str, object] | None
    trust: Literal["auto", "hard", "soft"]
    random_state: int | np.random.RandomState | np.random.Generator | None
    n_jobs: int | None
    time_limit: float | None
    memory_limit: int | None
    progress: bool | Literal["auto"] | Callable[[str, int, int | None], object]
    def __init__(
        self,
        n_clusters: int = 8,
        *,
        restarts: int = 0,
        max_iter: int = 300,
        init: Literal["greedy-kmeans++", "kmeans++", "random"] = 'greedy-kmeans++',
        order: Literal["input", "random", "most-constrained"] = 'random',
        unit: Literal["block", "point"] = 'block',
        on_dead_end: Literal["retry", "strict"] = 'retry',
        retries: int = 10,
        scale: str | None = None,
        metric_learner: str | None = None,
        metric_params: dict[str, object] | None = None,
        trust: Literal["auto", "hard", "soft"] = 'auto',
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        progress: bool | Literal["auto"] | Callable[[str, int, int | None], object] = 'auto',
    ) -> None: ...

class GreedyMLCL(_Clusterer):
    """the greedy baseline: must-link sets follow their first row, cannot-link sets take what is left"""

    n_clusters: int
    restarts: int
    max_iter: int
    init: Literal["greedy-kmeans++", "kmeans++", "random"]
    scale: str | None
    metric_learner: str | None
    metric_params: dict[str, object] | None
    trust: Literal["auto", "hard", "soft"]
    random_state: int | np.random.RandomState | np.random.Generator | None
    n_jobs: int | None
    time_limit: float | None
    memory_limit: int | None
    progress: bool | Literal["auto"] | Callable[[str, int, int | None], object]
    def __init__(
        self,
        n_clusters: int = 8,
        *,
        restarts: int = 0,
        max_iter: int = 300,
        init: Literal["greedy-kmeans++", "kmeans++", "random"] = 'random',
        scale: str | None = None,
        metric_learner: str | None = None,
        metric_params: dict[str, object] | None = None,
        trust: Literal["auto", "hard", "soft"] = 'auto',
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        progress: bool | Literal["auto"] | Callable[[str, int, int | None], object] = 'auto',
    ) -> None: ...

class ConstrainedKMeans(_Clusterer):
    """k-means that keeps every must-link and cannot-link by exact assignment"""

    n_clusters: int
    restarts: int
    max_iter: int
    tolerance: float
    init: Literal["greedy-kmeans++", "kmeans++"]
    min_size: int | None
    max_size: int | None
    scale: str | None
    metric_learner: str | None
    metric_params: dict[str, object] | None
    trust: Literal["auto", "hard", "soft"]
    random_state: int | np.random.RandomState | np.random.Generator | None
    n_jobs: int | None
    time_limit: float | None
    memory_limit: int | None
    progress: bool | Literal["auto"] | Callable[[str, int, int | None], object]
    def __init__(
        self,
        n_clusters: int = 8,
        *,
        restarts: int = 0,
        max_iter: int = 300,
        tolerance: float = 0.0,
        init: Literal["greedy-kmeans++", "kmeans++"] = 'greedy-kmeans++',
        min_size: int | None = None,
        max_size: int | None = None,
        scale: str | None = None,
        metric_learner: str | None = None,
        metric_params: dict[str, object] | None = None,
        trust: Literal["auto", "hard", "soft"] = 'auto',
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        progress: bool | Literal["auto"] | Callable[[str, int, int | None], object] = 'auto',
    ) -> None: ...

class LCC(_Clusterer):
    """Lagrangian multipliers push violated cannot-links apart; what is left is repaired exactly"""

    n_clusters: int
    restarts: int
    sweeps: int
    patience: int
    lam: float
    alpha: float
    init: Literal["greedy-kmeans++", "kmeans++", "random-assignment"]
    order: Literal["index", "random"]
    repair: bool
    max_iter: int
    scale: str | None
    metric_learner: str | None
    metric_params: dict[str, object] | None
    trust: Literal["auto", "hard", "soft"]
    random_state: int | np.random.RandomState | np.random.Generator | None
    n_jobs: int | None
    time_limit: float | None
    memory_limit: int | None
    progress: bool | Literal["auto"] | Callable[[str, int, int | None], object]
    def __init__(
        self,
        n_clusters: int = 8,
        *,
        restarts: int = 0,
        sweeps: int = 100,
        patience: int = 25,
        lam: float = 1.0,
        alpha: float = 2.0,
        init: Literal["greedy-kmeans++", "kmeans++", "random-assignment"] = 'greedy-kmeans++',
        order: Literal["index", "random"] = 'random',
        repair: bool = True,
        max_iter: int = 300,
        scale: str | None = None,
        metric_learner: str | None = None,
        metric_params: dict[str, object] | None = None,
        trust: Literal["auto", "hard", "soft"] = 'auto',
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        progress: bool | Literal["auto"] | Callable[[str, int, int | None], object] = 'auto',
    ) -> None: ...

class KernelKMeans(_Clusterer):
    """k-means in the feature space of a kernel: clusters of any shape, constraints ignored"""

    n_clusters: int
    kernel: Literal["linear", "cosine", "rbf", "rbf-local"]
    sigma: float
    neighbour: int
    init: Literal["kmeans++", "farthest-first"]
    restarts: int
    max_iter: int
    refine: bool
    scale: str | None
    metric_learner: str | None
    metric_params: dict[str, object] | None
    trust: Literal["auto", "hard", "soft"]
    random_state: int | np.random.RandomState | np.random.Generator | None
    n_jobs: int | None
    time_limit: float | None
    memory_limit: int | None
    progress: bool | Literal["auto"] | Callable[[str, int, int | None], object]
    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Literal["linear", "cosine", "rbf", "rbf-local"] = 'rbf-local',
        sigma: float = 0.0,
        neighbour: int = 7,
        init: Literal["kmeans++", "farthest-first"] = 'kmeans++',
        restarts: int = 0,
        max_iter: int = 300,
        refine: bool = True,
        scale: str | None = None,
        metric_learner: str | None = None,
        metric_params: dict[str, object] | None = None,
        trust: Literal["auto", "hard", "soft"] = 'auto',
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        progress: bool | Literal["auto"] | Callable[[str, int, int | None], object] = 'auto',
    ) -> None: ...

class CKM(_Clusterer):
    """constrained k-means that meets constraints one by one and never fails"""

    n_clusters: int
    init: Literal["kmeans++", "farthest-first"]
    order: Literal["random", "component", "index"]
    closer: Literal["distance", "product"]
    base: Literal["rows", "chunklets"]
    kernel: Literal["linear", "cosine", "rbf", "rbf-local"]
    sigma: float
    neighbour: int
    restarts: int
    max_iter: int
    scale: str | None
    metric_learner: str | None
    metric_params: dict[str, object] | None
    trust: Literal["auto", "hard", "soft"]
    random_state: int | np.random.RandomState | np.random.Generator | None
    n_jobs: int | None
    time_limit: float | None
    memory_limit: int | None
    progress: bool | Literal["auto"] | Callable[[str, int, int | None], object]
    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Literal["kmeans++", "farthest-first"] = 'kmeans++',
        order: Literal["random", "component", "index"] = 'index',
        closer: Literal["distance", "product"] = 'product',
        base: Literal["rows", "chunklets"] = 'rows',
        kernel: Literal["linear", "cosine", "rbf", "rbf-local"] = 'linear',
        sigma: float = 0.0,
        neighbour: int = 7,
        restarts: int = 1,
        max_iter: int = 100,
        scale: str | None = None,
        metric_learner: str | None = None,
        metric_params: dict[str, object] | None = None,
        trust: Literal["auto", "hard", "soft"] = 'auto',
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        progress: bool | Literal["auto"] | Callable[[str, int, int | None], object] = 'auto',
    ) -> None: ...

class RCKM(_Clusterer):
    """bagged constrained k-means: rounds in random orders combined by kernel k-means"""

    n_clusters: int
    rounds: int
    alpha_star: float
    init: Literal["kmeans++", "farthest-first"]
    order: Literal["random", "component", "index"]
    redraw: bool
    closer: Literal["distance", "product"]
    base: Literal["rows", "chunklets"]
    kernel: Literal["linear", "cosine", "rbf", "rbf-local"]
    sigma: float
    neighbour: int
    max_iter: int
    final_restarts: int
    refine: bool
    scale: str | None
    metric_learner: str | None
    metric_params: dict[str, object] | None
    trust: Literal["auto", "hard", "soft"]
    random_state: int | np.random.RandomState | np.random.Generator | None
    n_jobs: int | None
    time_limit: float | None
    memory_limit: int | None
    progress: bool | Literal["auto"] | Callable[[str, int, int | None], object]
    def __init__(
        self,
        n_clusters: int = 8,
        *,
        rounds: int = 100,
        alpha_star: float = 100.0,
        init: Literal["kmeans++", "farthest-first"] = 'kmeans++',
        order: Literal["random", "component", "index"] = 'random',
        redraw: bool = False,
        closer: Literal["distance", "product"] = 'product',
        base: Literal["rows", "chunklets"] = 'rows',
        kernel: Literal["linear", "cosine", "rbf", "rbf-local"] = 'linear',
        sigma: float = 0.0,
        neighbour: int = 7,
        max_iter: int = 100,
        final_restarts: int = 1,
        refine: bool = False,
        scale: str | None = None,
        metric_learner: str | None = None,
        metric_params: dict[str, object] | None = None,
        trust: Literal["auto", "hard", "soft"] = 'auto',
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        progress: bool | Literal["auto"] | Callable[[str, int, int | None], object] = 'auto',
    ) -> None: ...

class BCKM(_Clusterer):
    """boosted constrained k-means: rounds that put broken constraints first, combined by kernel k-means"""

    n_clusters: int
    rounds: int
    alpha_star: float
    init: Literal["kmeans++", "farthest-first"]
    order: Literal["random", "component", "index"]
    redraw: bool
    closer: Literal["distance", "product"]
    base: Literal["rows", "chunklets"]
    kernel: Literal["linear", "cosine", "rbf", "rbf-local"]
    sigma: float
    neighbour: int
    max_iter: int
    final_restarts: int
    refine: bool
    repair: bool
    scale: str | None
    metric_learner: str | None
    metric_params: dict[str, object] | None
    trust: Literal["auto", "hard", "soft"]
    random_state: int | np.random.RandomState | np.random.Generator | None
    n_jobs: int | None
    time_limit: float | None
    memory_limit: int | None
    progress: bool | Literal["auto"] | Callable[[str, int, int | None], object]
    def __init__(
        self,
        n_clusters: int = 8,
        *,
        rounds: int = 100,
        alpha_star: float = 100.0,
        init: Literal["kmeans++", "farthest-first"] = 'kmeans++',
        order: Literal["random", "component", "index"] = 'random',
        redraw: bool = True,
        closer: Literal["distance", "product"] = 'distance',
        base: Literal["rows", "chunklets"] = 'rows',
        kernel: Literal["linear", "cosine", "rbf", "rbf-local"] = 'linear',
        sigma: float = 0.0,
        neighbour: int = 7,
        max_iter: int = 100,
        final_restarts: int = 10,
        refine: bool = False,
        repair: bool = False,
        scale: str | None = None,
        metric_learner: str | None = None,
        metric_params: dict[str, object] | None = None,
        trust: Literal["auto", "hard", "soft"] = 'auto',
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        progress: bool | Literal["auto"] | Callable[[str, int, int | None], object] = 'auto',
    ) -> None: ...

class PCKMeans(_Clusterer):
    """k-means that pays a fixed price for every broken constraint"""

    n_clusters: int
    restarts: int
    max_iter: int
    weight: float
    unit: Literal["data", "absolute"]
    closure: bool
    init: Literal["both", "neighbourhoods", "greedy-kmeans++"]
    context: Literal["warm", "cold"]
    sweeps: int
    whole: bool
    refine: bool
    scale: str | None
    metric_learner: str | None
    metric_params: dict[str, object] | None
    trust: Literal["auto", "hard", "soft"]
    random_state: int | np.random.RandomState | np.random.Generator | None
    n_jobs: int | None
    time_limit: float | None
    memory_limit: int | None
    progress: bool | Literal["auto"] | Callable[[str, int, int | None], object]
    def __init__(
        self,
        n_clusters: int = 8,
        *,
        restarts: int = 0,
        max_iter: int = 300,
        weight: float = 1.0,
        unit: Literal["data", "absolute"] = 'data',
        closure: bool = True,
        init: Literal["both", "neighbourhoods", "greedy-kmeans++"] = 'both',
        context: Literal["warm", "cold"] = 'warm',
        sweeps: int = 20,
        whole: bool = True,
        refine: bool = True,
        scale: str | None = None,
        metric_learner: str | None = None,
        metric_params: dict[str, object] | None = None,
        trust: Literal["auto", "hard", "soft"] = 'auto',
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        progress: bool | Literal["auto"] | Callable[[str, int, int | None], object] = 'auto',
    ) -> None: ...

class MPCKMeans(_Clusterer):
    """k-means that learns a metric while it pays for broken constraints"""

    n_clusters: int
    restarts: int
    max_iter: int
    metric: Literal["diagonal", "full"]
    scope: Literal["single", "per-cluster"]
    weight: float
    closure: bool
    init: Literal["both", "neighbourhoods", "greedy-kmeans++"]
    sweeps: int
    orders: int
    whole: bool
    refine: bool
    clip: bool
    scale: str | None
    metric_learner: str | None
    metric_params: dict[str, object] | None
    trust: Literal["auto", "hard", "soft"]
    random_state: int | np.random.RandomState | np.random.Generator | None
    n_jobs: int | None
    time_limit: float | None
    memory_limit: int | None
    progress: bool | Literal["auto"] | Callable[[str, int, int | None], object]
    def __init__(
        self,
        n_clusters: int = 8,
        *,
        restarts: int = 0,
        max_iter: int = 100,
        metric: Literal["diagonal", "full"] = 'diagonal',
        scope: Literal["single", "per-cluster"] = 'single',
        weight: float = 1.0,
        closure: bool = True,
        init: Literal["both", "neighbourhoods", "greedy-kmeans++"] = 'both',
        sweeps: int = 20,
        orders: int = 0,
        whole: bool = True,
        refine: bool = True,
        clip: bool = False,
        scale: str | None = None,
        metric_learner: str | None = None,
        metric_params: dict[str, object] | None = None,
        trust: Literal["auto", "hard", "soft"] = 'auto',
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        progress: bool | Literal["auto"] | Callable[[str, int, int | None], object] = 'auto',
    ) -> None: ...

class CVQE(_Clusterer):
    """k-means in which a broken constraint costs the distance between two centres"""

    n_clusters: int
    restarts: int
    max_iter: int
    init: Literal["greedy-kmeans++", "kmeans++", "random"]
    recheck: bool
    symmetric: bool
    scale: str | None
    metric_learner: str | None
    metric_params: dict[str, object] | None
    trust: Literal["auto", "hard", "soft"]
    random_state: int | np.random.RandomState | np.random.Generator | None
    n_jobs: int | None
    time_limit: float | None
    memory_limit: int | None
    progress: bool | Literal["auto"] | Callable[[str, int, int | None], object]
    def __init__(
        self,
        n_clusters: int = 8,
        *,
        restarts: int = 0,
        max_iter: int = 100,
        init: Literal["greedy-kmeans++", "kmeans++", "random"] = 'greedy-kmeans++',
        recheck: bool = True,
        symmetric: bool = False,
        scale: str | None = None,
        metric_learner: str | None = None,
        metric_params: dict[str, object] | None = None,
        trust: Literal["auto", "hard", "soft"] = 'auto',
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        progress: bool | Literal["auto"] | Callable[[str, int, int | None], object] = 'auto',
    ) -> None: ...

class LCVQE(_Clusterer):
    """k-means in which a broken constraint costs the distance of its rows to the other centre"""

    n_clusters: int
    restarts: int
    max_iter: int
    init: Literal["greedy-kmeans++", "kmeans++", "random"]
    recheck: bool
    discount: float
    alternative: bool
    scale: str | None
    metric_learner: str | None
    metric_params: dict[str, object] | None
    trust: Literal["auto", "hard", "soft"]
    random_state: int | np.random.RandomState | np.random.Generator | None
    n_jobs: int | None
    time_limit: float | None
    memory_limit: int | None
    progress: bool | Literal["auto"] | Callable[[str, int, int | None], object]
    def __init__(
        self,
        n_clusters: int = 8,
        *,
        restarts: int = 0,
        max_iter: int = 300,
        init: Literal["greedy-kmeans++", "kmeans++", "random"] = 'greedy-kmeans++',
        recheck: bool = True,
        discount: float = 1.0,
        alternative: bool = False,
        scale: str | None = None,
        metric_learner: str | None = None,
        metric_params: dict[str, object] | None = None,
        trust: Literal["auto", "hard", "soft"] = 'auto',
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        progress: bool | Literal["auto"] | Callable[[str, int, int | None], object] = 'auto',
    ) -> None: ...

class SeededKMeans(_Clusterer):
    """k-means that starts from the means of labelled rows"""

    n_clusters: int
    restarts: int
    max_iter: int
    scale: str | None
    metric_learner: str | None
    metric_params: dict[str, object] | None
    trust: Literal["auto", "hard", "soft"]
    random_state: int | np.random.RandomState | np.random.Generator | None
    n_jobs: int | None
    time_limit: float | None
    memory_limit: int | None
    progress: bool | Literal["auto"] | Callable[[str, int, int | None], object]
    def __init__(
        self,
        n_clusters: int = 8,
        *,
        restarts: int = 0,
        max_iter: int = 300,
        scale: str | None = None,
        metric_learner: str | None = None,
        metric_params: dict[str, object] | None = None,
        trust: Literal["auto", "hard", "soft"] = 'auto',
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        progress: bool | Literal["auto"] | Callable[[str, int, int | None], object] = 'auto',
    ) -> None: ...

class ConstrainedSeededKMeans(_Clusterer):
    """k-means in which labelled rows stay with their label"""

    n_clusters: int
    restarts: int
    max_iter: int
    scale: str | None
    metric_learner: str | None
    metric_params: dict[str, object] | None
    trust: Literal["auto", "hard", "soft"]
    random_state: int | np.random.RandomState | np.random.Generator | None
    n_jobs: int | None
    time_limit: float | None
    memory_limit: int | None
    progress: bool | Literal["auto"] | Callable[[str, int, int | None], object]
    def __init__(
        self,
        n_clusters: int = 8,
        *,
        restarts: int = 0,
        max_iter: int = 300,
        scale: str | None = None,
        metric_learner: str | None = None,
        metric_params: dict[str, object] | None = None,
        trust: Literal["auto", "hard", "soft"] = 'auto',
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        progress: bool | Literal["auto"] | Callable[[str, int, int | None], object] = 'auto',
    ) -> None: ...

class CAL(_Clusterer):
    """constrained average link: hierarchical clustering on distances that the constraints shorten or stretch"""

    n_clusters: int
    distance: Literal["euclidean", "squared", "cosine"]
    penalty: float
    hard: bool
    scale: str | None
    metric_learner: str | None
    metric_params: dict[str, object] | None
    trust: Literal["auto", "hard", "soft"]
    random_state: int | np.random.RandomState | np.random.Generator | None
    n_jobs: int | None
    time_limit: float | None
    memory_limit: int | None
    progress: bool | Literal["auto"] | Callable[[str, int, int | None], object]
    def __init__(
        self,
        n_clusters: int = 8,
        *,
        distance: Literal["euclidean", "squared", "cosine"] = 'euclidean',
        penalty: float = 1.0,
        hard: bool = False,
        scale: str | None = None,
        metric_learner: str | None = None,
        metric_params: dict[str, object] | None = None,
        trust: Literal["auto", "hard", "soft"] = 'auto',
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        progress: bool | Literal["auto"] | Callable[[str, int, int | None], object] = 'auto',
    ) -> None: ...

class SPCL(_Clusterer):
    """spectral learning: spectral clustering after the constraints are written into the affinities"""

    n_clusters: int
    kernel: Literal["linear", "cosine", "rbf", "rbf-local"]
    sigma: float
    neighbour: int
    dimension: int
    closure: bool
    restarts: int
    scale: str | None
    metric_learner: str | None
    metric_params: dict[str, object] | None
    trust: Literal["auto", "hard", "soft"]
    random_state: int | np.random.RandomState | np.random.Generator | None
    n_jobs: int | None
    time_limit: float | None
    memory_limit: int | None
    progress: bool | Literal["auto"] | Callable[[str, int, int | None], object]
    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Literal["linear", "cosine", "rbf", "rbf-local"] = 'rbf-local',
        sigma: float = 0.0,
        neighbour: int = 7,
        dimension: int = 0,
        closure: bool = False,
        restarts: int = 0,
        scale: str | None = None,
        metric_learner: str | None = None,
        metric_params: dict[str, object] | None = None,
        trust: Literal["auto", "hard", "soft"] = 'auto',
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        progress: bool | Literal["auto"] | Callable[[str, int, int | None], object] = 'auto',
    ) -> None: ...

class CSP(_Clusterer):
    """constrained spectral clustering: normalised cuts that satisfy the constraints to a given degree"""

    n_clusters: int
    kernel: Literal["linear", "cosine", "rbf", "rbf-local"]
    sigma: float
    neighbour: int
    strictness: float
    tight: bool
    diagonal: float
    labels: Literal["k-means", "sign"]
    restarts: int
    scale: str | None
    metric_learner: str | None
    metric_params: dict[str, object] | None
    trust: Literal["auto", "hard", "soft"]
    random_state: int | np.random.RandomState | np.random.Generator | None
    n_jobs: int | None
    time_limit: float | None
    memory_limit: int | None
    progress: bool | Literal["auto"] | Callable[[str, int, int | None], object]
    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Literal["linear", "cosine", "rbf", "rbf-local"] = 'rbf-local',
        sigma: float = 0.0,
        neighbour: int = 7,
        strictness: float = 0.01,
        tight: bool = False,
        diagonal: float = 1.0,
        labels: Literal["k-means", "sign"] = 'k-means',
        restarts: int = 0,
        scale: str | None = None,
        metric_learner: str | None = None,
        metric_params: dict[str, object] | None = None,
        trust: Literal["auto", "hard", "soft"] = 'auto',
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        progress: bool | Literal["auto"] | Callable[[str, int, int | None], object] = 'auto',
    ) -> None: ...

class PCP(_Clusterer):
    """constraint propagation: the smoothest kernel that puts must-links at one point and cannot-links at right angles"""

    n_clusters: int
    kernel: Literal["linear", "cosine", "rbf", "rbf-local"]
    sigma: float
    neighbour: int
    diagonal: bool
    max_iter: int
    tolerance: float
    restarts: int
    scale: str | None
    metric_learner: str | None
    metric_params: dict[str, object] | None
    trust: Literal["auto", "hard", "soft"]
    random_state: int | np.random.RandomState | np.random.Generator | None
    n_jobs: int | None
    time_limit: float | None
    memory_limit: int | None
    progress: bool | Literal["auto"] | Callable[[str, int, int | None], object]
    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Literal["linear", "cosine", "rbf", "rbf-local"] = 'rbf-local',
        sigma: float = 0.0,
        neighbour: int = 7,
        diagonal: bool = False,
        max_iter: int = 1000,
        tolerance: float = 0.0001,
        restarts: int = 0,
        scale: str | None = None,
        metric_learner: str | None = None,
        metric_params: dict[str, object] | None = None,
        trust: Literal["auto", "hard", "soft"] = 'auto',
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        progress: bool | Literal["auto"] | Callable[[str, int, int | None], object] = 'auto',
    ) -> None: ...

class EM(_Clusterer):
    """Gaussian mixture by EM: ellipsoid clusters of any size, constraints ignored"""

    n_clusters: int
    covariance: Literal["auto", "full", "diagonal", "tied", "spherical"]
    restarts: int
    max_iter: int
    tolerance: float
    reg: float
    shrink: bool
    scale: str | None
    metric_learner: str | None
    metric_params: dict[str, object] | None
    trust: Literal["auto", "hard", "soft"]
    random_state: int | np.random.RandomState | np.random.Generator | None
    n_jobs: int | None
    time_limit: float | None
    memory_limit: int | None
    progress: bool | Literal["auto"] | Callable[[str, int, int | None], object]
    def __init__(
        self,
        n_clusters: int = 8,
        *,
        covariance: Literal["auto", "full", "diagonal", "tied", "spherical"] = 'auto',
        restarts: int = 5,
        max_iter: int = 200,
        tolerance: float = 1e-06,
        reg: float = 1e-06,
        shrink: bool = True,
        scale: str | None = None,
        metric_learner: str | None = None,
        metric_params: dict[str, object] | None = None,
        trust: Literal["auto", "hard", "soft"] = 'auto',
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        progress: bool | Literal["auto"] | Callable[[str, int, int | None], object] = 'auto',
    ) -> None: ...

class ConstrainedEM(_Clusterer):
    """Gaussian mixture by EM over the labellings that keep every constraint"""

    n_clusters: int
    covariance: Literal["auto", "full", "diagonal", "tied", "spherical"]
    restarts: int
    max_iter: int
    tolerance: float
    reg: float
    shrink: bool
    by_rows: bool
    scale: str | None
    metric_learner: str | None
    metric_params: dict[str, object] | None
    trust: Literal["auto", "hard", "soft"]
    random_state: int | np.random.RandomState | np.random.Generator | None
    n_jobs: int | None
    time_limit: float | None
    memory_limit: int | None
    progress: bool | Literal["auto"] | Callable[[str, int, int | None], object]
    def __init__(
        self,
        n_clusters: int = 8,
        *,
        covariance: Literal["auto", "full", "diagonal", "tied", "spherical"] = 'auto',
        restarts: int = 5,
        max_iter: int = 200,
        tolerance: float = 1e-06,
        reg: float = 1e-06,
        shrink: bool = True,
        by_rows: bool = False,
        scale: str | None = None,
        metric_learner: str | None = None,
        metric_params: dict[str, object] | None = None,
        trust: Literal["auto", "hard", "soft"] = 'auto',
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        progress: bool | Literal["auto"] | Callable[[str, int, int | None], object] = 'auto',
    ) -> None: ...

class Exact(_Clusterer):
    """the best possible k-means under all constraints, proven, or a bound on how far from it the result can be"""

    n_clusters: int
    tolerance: float
    restarts: int
    work: float
    scale: str | None
    metric_learner: str | None
    metric_params: dict[str, object] | None
    trust: Literal["auto", "hard", "soft"]
    random_state: int | np.random.RandomState | np.random.Generator | None
    n_jobs: int | None
    time_limit: float | None
    memory_limit: int | None
    progress: bool | Literal["auto"] | Callable[[str, int, int | None], object]
    def __init__(
        self,
        n_clusters: int = 8,
        *,
        tolerance: float = 1e-06,
        restarts: int = 0,
        work: float = 0.0,
        scale: str | None = None,
        metric_learner: str | None = None,
        metric_params: dict[str, object] | None = None,
        trust: Literal["auto", "hard", "soft"] = 'auto',
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        progress: bool | Literal["auto"] | Callable[[str, int, int | None], object] = 'auto',
    ) -> None: ...

class BLPKMeans(_Clusterer):
    """k-means whose assignment step is an integer programme: hard constraints kept, soft ones at a price"""

    n_clusters: int
    restarts: int
    max_iter: int
    init: Literal["greedy-kmeans++", "kmeans++", "random"]
    penalty: float
    scale: str | None
    metric_learner: str | None
    metric_params: dict[str, object] | None
    trust: Literal["auto", "hard", "soft"]
    random_state: int | np.random.RandomState | np.random.Generator | None
    n_jobs: int | None
    time_limit: float | None
    memory_limit: int | None
    progress: bool | Literal["auto"] | Callable[[str, int, int | None], object]
    def __init__(
        self,
        n_clusters: int = 8,
        *,
        restarts: int = 0,
        max_iter: int = 100,
        init: Literal["greedy-kmeans++", "kmeans++", "random"] = 'kmeans++',
        penalty: float = 1.0,
        scale: str | None = None,
        metric_learner: str | None = None,
        metric_params: dict[str, object] | None = None,
        trust: Literal["auto", "hard", "soft"] = 'auto',
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        progress: bool | Literal["auto"] | Callable[[str, int, int | None], object] = 'auto',
    ) -> None: ...

class BoostCluster(_Clusterer):
    """boosts k-means by projections that pull broken must-links together and cannot-links apart"""

    n_clusters: int
    rounds: int
    directions: int
    centre: bool
    final_restarts: int
    scale: str | None
    metric_learner: str | None
    metric_params: dict[str, object] | None
    trust: Literal["auto", "hard", "soft"]
    random_state: int | np.random.RandomState | np.random.Generator | None
    n_jobs: int | None
    time_limit: float | None
    memory_limit: int | None
    progress: bool | Literal["auto"] | Callable[[str, int, int | None], object]
    def __init__(
        self,
        n_clusters: int = 8,
        *,
        rounds: int = 100,
        directions: int = 0,
        centre: bool = False,
        final_restarts: int = 10,
        scale: str | None = None,
        metric_learner: str | None = None,
        metric_params: dict[str, object] | None = None,
        trust: Literal["auto", "hard", "soft"] = 'auto',
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        progress: bool | Literal["auto"] | Callable[[str, int, int | None], object] = 'auto',
    ) -> None: ...

class KernelBoost(_Clusterer):
    """boosts a kernel from Gaussian mixtures that weigh broken pairs more, then k-means in its feature space"""

    n_clusters: int
    rounds: int
    components: int
    drawn: float
    labelled_mass: float
    final_restarts: int
    scale: str | None
    metric_learner: str | None
    metric_params: dict[str, object] | None
    trust: Literal["auto", "hard", "soft"]
    random_state: int | np.random.RandomState | np.random.Generator | None
    n_jobs: int | None
    time_limit: float | None
    memory_limit: int | None
    progress: bool | Literal["auto"] | Callable[[str, int, int | None], object]
    def __init__(
        self,
        n_clusters: int = 8,
        *,
        rounds: int = 100,
        components: int = 0,
        drawn: float = 0.5,
        labelled_mass: float = 0.5,
        final_restarts: int = 10,
        scale: str | None = None,
        metric_learner: str | None = None,
        metric_params: dict[str, object] | None = None,
        trust: Literal["auto", "hard", "soft"] = 'auto',
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        progress: bool | Literal["auto"] | Callable[[str, int, int | None], object] = 'auto',
    ) -> None: ...

class DistBoost(_Clusterer):
    """boosts a similarity from Gaussian mixtures that weigh broken pairs more, then kernel k-means"""

    n_clusters: int
    rounds: int
    components: int
    drawn: float
    labelled_mass: float
    final_restarts: int
    scale: str | None
    metric_learner: str | None
    metric_params: dict[str, object] | None
    trust: Literal["auto", "hard", "soft"]
    random_state: int | np.random.RandomState | np.random.Generator | None
    n_jobs: int | None
    time_limit: float | None
    memory_limit: int | None
    progress: bool | Literal["auto"] | Callable[[str, int, int | None], object]
    def __init__(
        self,
        n_clusters: int = 8,
        *,
        rounds: int = 100,
        components: int = 0,
        drawn: float = 0.5,
        labelled_mass: float = 0.5,
        final_restarts: int = 10,
        scale: str | None = None,
        metric_learner: str | None = None,
        metric_params: dict[str, object] | None = None,
        trust: Literal["auto", "hard", "soft"] = 'auto',
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        progress: bool | Literal["auto"] | Callable[[str, int, int | None], object] = 'auto',
    ) -> None: ...

class RCA(_MetricLearner):
    """whitens what varies inside chunklets"""

    shrink: float
    dims: int
    random_state: int | np.random.RandomState | np.random.Generator | None
    n_jobs: int | None
    time_limit: float | None
    progress: bool | Literal["auto"] | Callable[[str, int, int | None], object]
    def __init__(
        self,
        *,
        shrink: float = 0.001,
        dims: int = 0,
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        progress: bool | Literal["auto"] | Callable[[str, int, int | None], object] = 'auto',
    ) -> None: ...

class DCA(_MetricLearner):
    """directions in which cannot-linked chunklets differ, whitened by what varies inside chunklets"""

    reg: float
    dims: int
    singletons: bool
    blend: float
    random_state: int | np.random.RandomState | np.random.Generator | None
    n_jobs: int | None
    time_limit: float | None
    progress: bool | Literal["auto"] | Callable[[str, int, int | None], object]
    def __init__(
        self,
        *,
        reg: float = 0.001,
        dims: int = 0,
        singletons: bool = True,
        blend: float = 0.0,
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        progress: bool | Literal["auto"] | Callable[[str, int, int | None], object] = 'auto',
    ) -> None: ...

class ITML(_MetricLearner):
    """the metric closest to the given one that brings must-links near and cannot-links far"""

    gamma: float
    tolerance: float
    sweeps: int
    prior: Literal["identity", "covariance"]
    bounds: Literal["squared", "unsquared", "range"]
    upper: float
    lower: float
    random_state: int | np.random.RandomState | np.random.Generator | None
    n_jobs: int | None
    time_limit: float | None
    progress: bool | Literal["auto"] | Callable[[str, int, int | None], object]
    def __init__(
        self,
        *,
        gamma: float = 1.0,
        tolerance: float = 0.001,
        sweeps: int = 1000,
        prior: Literal["identity", "covariance"] = 'identity',
        bounds: Literal["squared", "unsquared", "range"] = 'squared',
        upper: float = 0.0,
        lower: float = 0.0,
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        progress: bool | Literal["auto"] | Callable[[str, int, int | None], object] = 'auto',
    ) -> None: ...

class MMC(_MetricLearner):
    """cannot-linked rows far apart, must-linked ones within a bound"""

    form: Literal["diagonal", "full"]
    max_iter: int
    tolerance: float
    random_state: int | np.random.RandomState | np.random.Generator | None
    n_jobs: int | None
    time_limit: float | None
    progress: bool | Literal["auto"] | Callable[[str, int, int | None], object]
    def __init__(
        self,
        *,
        form: Literal["diagonal", "full"] = 'full',
        max_iter: int = 500,
        tolerance: float = 1e-07,
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        progress: bool | Literal["auto"] | Callable[[str, int, int | None], object] = 'auto',
    ) -> None: ...
