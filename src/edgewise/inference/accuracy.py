"""Cross-validated accuracy of classifiers, and its comparison."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedGroupKFold

from edgewise._core.errors import InputError
from edgewise._core.parallel import as_generator, parallel_map
from edgewise._core.typing import FloatArray, IntArray, RandomState
from edgewise.data.labels import label_codes
from edgewise.data.table import take_rows
from edgewise.inference.resample import cluster_codes, count_rows

if TYPE_CHECKING:
    import pandas as pd

#: A gain of fewer standard errors is noise.
NOISE = 2.0


class Gain(NamedTuple):
    """Difference of two accuracies on the same folds, with its standard error."""

    difference: float
    standard_error: float

    @property
    def is_beyond_noise(self) -> bool:
        """Whether the difference is larger than two standard errors, either way."""
        return abs(self.difference) > NOISE * self.standard_error


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassAccuracy:
    """Accuracies of several classifiers on the same folds.

    Attributes
    ----------
    names : tuple of str
        The classifiers.
    scores : ndarray of shape (n_models, n_folds)
        Share of held-out rows whose class was found.
    chance : float
        Share of the most frequent class.
    overlap : float
        Held-out rows per training row: what folds share makes their scores alike.
    classes : tuple
        Labels of the classes.
    confusion : ndarray of shape (n_models, K, K)
        Held-out rows of each class (rows) that were put into each class (columns), over all folds.
    """

    names: tuple[str, ...]
    scores: FloatArray
    chance: float
    overlap: float
    classes: tuple[Any, ...] = ()
    confusion: FloatArray = field(default_factory=lambda: np.zeros((0, 0, 0)), repr=False)

    def accuracy(self, name: str) -> float:
        """Mean accuracy of a classifier."""
        return float(self.scores[self._index(name)].mean())

    def standard_error(self, name: str) -> float:
        """Return the standard error of a mean accuracy."""
        return self._error(self.scores[self._index(name)])

    def gain(self, name: str, over: str) -> Gain:
        """Compare two classifiers fold by fold.

        Parameters
        ----------
        name, over : str
            The classifiers; the difference is that of the first less the second.

        Returns
        -------
        Gain
        """
        difference = self.scores[self._index(name)] - self.scores[self._index(over)]
        return Gain(float(difference.mean()), self._error(difference))

    def gain_over_chance(self, name: str) -> Gain:
        """Compare a classifier with always saying the most frequent class."""
        return Gain(self.accuracy(name) - self.chance, self.standard_error(name))

    def table(self) -> pd.DataFrame:
        """All classifiers with accuracy and standard error, in the order given."""
        import pandas as pd

        return pd.DataFrame(
            {
                "classifier": self.names,
                "accuracy": self.scores.mean(axis=1),
                "standard_error": [self._error(row) for row in self.scores],
            }
        )

    def confusions(self, name: str) -> pd.DataFrame:
        """List into which class the held-out rows of each class were put.

        Parameters
        ----------
        name : str
            The classifier.

        Returns
        -------
        DataFrame
            ``class``, the share of its rows put into each class (``as_`` and the label), and the
            ``precision``, the share of the rows put there that are of the class.
        """
        import pandas as pd

        counts = self.confusion[self._index(name)]
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
        table = {"class": list(self.classes)}
        table |= {f"as_{label}": shares[:, k] for k, label in enumerate(self.classes)}
        table["precision"] = np.diagonal(counts) / np.maximum(counts.sum(axis=0), 1.0)
        return pd.DataFrame(table)

    def _index(self, name: str) -> int:
        if name not in self.names:
            raise InputError("unknown_classifier", name=name, names=self.names)
        return self.names.index(name)

    def _error(self, values: FloatArray) -> float:
        """Return the standard error of a mean over folds that share training rows."""
        variance = float(np.var(values, ddof=1))
        return math.sqrt(variance * (1.0 / len(values) + self.overlap))


def class_accuracy(
    models: Mapping[str, Any],
    X: Any,
    y: Any,
    *,
    n_folds: int = 5,
    n_repeats: int = 2,
    block_length: int = 1,
    clusters: Any = None,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    verbose: int = 0,
) -> ClassAccuracy:
    r"""Cross-validate classifiers on the same folds, with honest standard errors.

    Folds share training rows, so that their scores are alike, and the usual standard error is too
    small. With :math:`k` scores of variance :math:`s^2`, :math:`n_2` held-out and :math:`n_1`
    training rows, the one used here [1]_ is

    .. math:: \sqrt{ \Big( \frac1k + \frac{n_2}{n_1} \Big) s^2 } .

    Parameters
    ----------
    models : mapping of str to classifier
        By name; each is copied and fitted anew for every fold.
    X : array-like or data frame of shape (n, m)
        Rows.
    y : array-like of shape (n,)
        Their labels.
    n_folds : int
        Folds, at most as many as the smallest class has rows. Classes have the same shares in all.
    n_repeats : int
        How many times rows are dealt out to folds.
    block_length : int
        So many consecutive rows of a class stay in one fold, for rows in order that are like the
        rows before them: dealt out one by one, a held-out row has its likeness among the
        training rows.
    clusters : array-like of shape (n,), optional
        Which rows belong together, as those of one subject do: they stay in one fold.
    n_jobs : int, optional
        Fits at a time. The result does not depend on it.
    random_state : int, Generator, RandomState or None
        Deals out the rows.
    verbose : int
        Above 0, a progress bar is drawn on standard error.

    Returns
    -------
    ClassAccuracy

    References
    ----------
    .. [1] Nadeau and Bengio (2003). Inference for the generalization error. *Machine Learning*
       52. https://doi.org/10.1023/A:1024068626366

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from edgewise.inference import class_accuracy
    >>> y = np.repeat([0, 1], 30)
    >>> X = y[:, None] + np.random.default_rng(0).normal(scale=0.3, size=(60, 2))
    >>> models = {"nearest": KNeighborsClassifier(), "first": DummyClassifier()}
    >>> found = class_accuracy(models, X, y, random_state=0)
    >>> found.accuracy("first")
    0.5
    >>> found.gain("nearest", "first").is_beyond_noise
    True
    """
    n_rows = count_rows(X)
    classes, member = label_codes(y, n_rows)
    counts = np.bincount(member)
    if len(classes) < 2:
        raise InputError("one_class", label=classes[0])
    if n_folds < 2 or n_folds > counts.min():
        raise InputError(
            "n_folds_range",
            n_rows=counts.min(),
            label=classes[int(counts.argmin())],
            n_folds=n_folds,
        )
    if n_repeats < 1:
        raise InputError("n_repeats_range", n_repeats=n_repeats)
    seed = int(as_generator(random_state).integers(2**31 - 1))
    units = None if clusters is None else cluster_codes(clusters, X, block_length)
    folds = _deal_out(member, n_folds, n_repeats, block_length, seed, units)
    labels = np.array(classes)[member]
    tasks = [(model, X, labels, *fold) for model in models.values() for fold in folds]
    found = parallel_map(_held_out, tasks, n_jobs=n_jobs, description="Folds", verbose=verbose)
    confusion = np.array(found).reshape(len(models), len(folds), len(classes), len(classes))
    # Categories may have another order than their labels.
    order = np.argsort(np.argsort(np.array(classes)))
    return ClassAccuracy(
        names=tuple(models),
        scores=np.trace(confusion, axis1=2, axis2=3) / confusion.sum(axis=(2, 3)),
        chance=float(counts.max() / n_rows),
        overlap=1.0 / (n_folds - 1),
        classes=tuple(classes),
        confusion=confusion.sum(axis=1)[:, order][:, :, order],
    )


def _deal_out(
    member: IntArray,
    n_folds: int,
    n_repeats: int,
    block_length: int,
    seed: int,
    units: IntArray | None = None,
) -> list[tuple[IntArray, IntArray]]:
    """List the training and held-out rows of every fold; blocks are of rows of one class."""
    rows = np.zeros((len(member), 1))
    if units is not None:
        if (n_units := len(np.unique(units))) < n_folds:
            raise InputError("too_few_clusters_for_folds", n_units=n_units, n_folds=n_folds)
        return _by_units(rows, member, units, n_folds, n_repeats, seed)
    if block_length == 1:
        splitter = RepeatedStratifiedKFold(n_splits=n_folds, n_repeats=n_repeats, random_state=seed)
        return list(splitter.split(rows, member))
    fewest = int(np.bincount(member).min())
    if block_length < 1 or block_length * n_folds > fewest:
        raise InputError(
            "block_length_range",
            fewest=fewest // n_folds,
            fewest2=fewest,
            n_folds=n_folds,
            block_length=block_length,
        )
    block = np.empty(len(member), dtype=np.int64)
    for k in range(member.max() + 1):
        place = np.arange(np.sum(member == k)) // block_length
        block[member == k] = place * (member.max() + 1) + k
    return _by_units(rows, member, block, n_folds, n_repeats, seed)


def _by_units(
    rows: FloatArray, member: IntArray, units: IntArray, n_folds: int, n_repeats: int, seed: int
) -> list[tuple[IntArray, IntArray]]:
    """Deal whole blocks or clusters out to folds."""
    return [
        fold
        for repeat in range(n_repeats)
        for fold in StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed + repeat).split(
            rows, member, units
        )
    ]


def _held_out(model: Any, X: Any, y: Any, train: Any, test: Any) -> FloatArray:
    """Fit to some rows, and count the others of each class by the class they are put into."""
    fitted = clone(model).fit(take_rows(X, train), y[train])
    classes = np.unique(y)
    counts = np.zeros((len(classes), len(classes)))
    chosen = fitted.predict(take_rows(X, test))
    np.add.at(counts, (np.searchsorted(classes, y[test]), np.searchsorted(classes, chosen)), 1.0)
    return counts
