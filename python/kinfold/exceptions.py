"""What can go wrong, with the sentences of the command line. All are ``ValueError``, as scikit-learn expects."""

__all__ = [
    "ConstraintError",
    "ContradictionError",
    "DataError",
    "IgnoredLabelsWarning",
    "InfeasibleError",
    "KinfoldError",
    "NumericError",
    "ParameterError",
    "ReadError",
]


class KinfoldError(ValueError):
    """Any error of kinfold."""


class DataError(KinfoldError):
    """The rows cannot be used: their shape, their type, or a cell that is not a finite number."""


class ParameterError(KinfoldError):
    """A parameter that does not exist, or a value that it does not take."""


class ConstraintError(KinfoldError):
    """The constraints cannot be used."""


class ContradictionError(ConstraintError):
    """The constraints contradict each other, whatever the number of clusters is."""


class InfeasibleError(ConstraintError):
    """No clustering into that many clusters keeps every hard constraint."""


class NumericError(KinfoldError):
    """A numerical routine failed."""


class ReadError(KinfoldError):
    """A file cannot be read; the sentence names file, line and column."""


class IgnoredLabelsWarning(UserWarning):
    """``y`` labels every row, so it was taken for the truth of a scorer and not for constraints."""
