# Made by scripts/docs from the engine's tables; do not edit.
from typing import Any

from numpy.typing import ArrayLike

from ._constraints import Constraints

def nmi(labels_true: ArrayLike, labels_pred: ArrayLike) -> float | None:
    """mutual information over the mean of the entropies"""

def nmi_geometric(labels_true: ArrayLike, labels_pred: ArrayLike) -> float | None:
    """mutual information over the geometric mean of the entropies"""

def ari(labels_true: ArrayLike, labels_pred: ArrayLike) -> float | None:
    """Rand index adjusted for chance"""

def rand(labels_true: ArrayLike, labels_pred: ArrayLike) -> float | None:
    """share of pairs of rows on which clustering and classes agree"""

def consistency(labels_true: ArrayLike, labels_pred: ArrayLike) -> float | None:
    """share of rows in matching clusters, best one-to-one matching"""

def pairwise_f1(labels_true: ArrayLike, labels_pred: ArrayLike) -> float | None:
    """harmonic mean of pairwise precision and recall"""

def nmi_without_ml(labels_true: ArrayLike, labels_pred: ArrayLike, constraints: Constraints, *, sample_ids: ArrayLike | None = None) -> float | None:
    """nmi on the rows in no must-link"""

def nmi_without_ml_cl(labels_true: ArrayLike, labels_pred: ArrayLike, constraints: Constraints, *, sample_ids: ArrayLike | None = None) -> float | None:
    """nmi on the rows in no constraint"""

def satisfaction(labels: ArrayLike, constraints: Constraints, *, sample_ids: ArrayLike | None = None) -> float | None:
    """share of the given constraints that hold"""

def silhouette(X: Any, labels: ArrayLike, *, sample: int | None = None, random_state: int = 0) -> float | None:
    """how much nearer the own cluster is than the next, −1 to 1"""

def simplified_silhouette(X: Any, labels: ArrayLike, *, sample: int | None = None, random_state: int = 0) -> float | None:
    """the same by distances to centres, −1 to 1"""

def normalised_hubert(X: Any, labels: ArrayLike, *, sample: int | None = None, random_state: int = 0) -> float | None:
    """correlation of distance and being in different clusters, −1 to 1"""

def hubert(X: Any, labels: ArrayLike, *, sample: int | None = None, random_state: int = 0) -> float | None:
    """mean distance between clusters over all pairs; rises with k"""

def calinski_harabasz(X: Any, labels: ArrayLike, *, sample: int | None = None, random_state: int = 0) -> float | None:
    """variance between clusters over variance within"""

def davies_bouldin_loss(X: Any, labels: ArrayLike, *, sample: int | None = None, random_state: int = 0) -> float | None:
    """spread of neighbouring clusters over the distance of their centres; smaller is better"""

def dbcv(X: Any, labels: ArrayLike, *, sample: int | None = None, random_state: int = 0) -> float | None:
    """density between clusters against density within, −1 to 1"""

def scores(
    labels: ArrayLike, *, truth: ArrayLike | None = None, constraints: Constraints | None = None,
    X: Any = None, sample_ids: ArrayLike | None = None,
) -> dict[str, float | None]: ...
