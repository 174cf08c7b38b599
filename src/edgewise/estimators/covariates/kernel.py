"""A network that varies smoothly with covariates, by kernel smoothing, as an estimator."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, Final, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from edgewise._core.constraints import is_number
from edgewise._core.errors import DataWarning, InputError
from edgewise._core.memory import Arrays
from edgewise._core.parallel import as_generator, parallel_map
from edgewise._core.typing import FloatArray, IntArray, RandomState
from edgewise.estimators.covariates.base import ConditionalEstimator, as_coordinates
from edgewise.estimators.covariates.coding import describe_covariates
from edgewise.estimators.covariates.kernel_search import (
    SEARCH_TOL,
    KernelSearch,
    Neighborhoods,
    alpha_grids,
    bandwidth_grid,
    choose_anchors,
    chunks,
    neighboring_order,
    search,
)
from edgewise.graph import Graph
from edgewise.io.messages import quote_names
from edgewise.selection import SelectionWarning
from edgewise.solvers.covariates.nearby_fits import NearbyFits, fit_nearby
from edgewise.stats.kernel import effective_samples

CHOICES: Final = {"mean": ("local", "global"), "scale": ("range", "none")}
#: Smallest values of the whole numbers among the parameters.
COUNTS: Final = {
    "min_samples": 2,
    "n_bandwidths": 2,
    "n_alphas": 2,
    "n_anchors": 2,
    "max_iter": 1,
}


class KernelEstimator(ConditionalEstimator):
    """Base of `KernelGraph`: everything that users do not call."""

    _copies_held = 3.0

    def _arrays_held(self, n_rows: int, n_features: int) -> list[Arrays]:
        anchors = min(n_rows, self.n_anchors)
        held = super()._arrays_held(n_rows, n_features)
        return [*held, Arrays(5.0, (anchors, n_features, n_features))]

    def _check_parameters(self) -> None:
        """Refuse parameters that no data could make sense of."""
        for name, lowest in (("bandwidth", "above"), ("alpha", "at least")):
            value = getattr(self, name)
            is_fine = is_number(value, least=0) and (value > 0 or name == "alpha")
            if value != "cv" and not is_fine:
                raise InputError(f'{name} must be a number {lowest} 0 or "cv", got {value!r}.')
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                raise InputError(
                    f"{name} must be one of {quote_names(allowed)}, got {getattr(self, name)!r}."
                )
        for name, least in COUNTS.items():
            value = getattr(self, name)
            is_count = isinstance(value, Integral) and not isinstance(value, bool)
            if not is_count or value < least:
                raise InputError(f"{name} must be a whole number, at least {least}; got {value!r}.")
        if not self.tol > 0:
            raise InputError(f"tol must be positive, got {self.tol!r}.")

    def _units(self) -> tuple[FloatArray, FloatArray]:
        """Location and scale that take the responses to those of the search."""
        deviation: FloatArray = self.responses_.std(axis=0)
        scale = deviation if self.standardize else np.ones_like(deviation)
        return self.responses_.mean(axis=0), scale

    def _neighborhoods(self) -> Neighborhoods:
        location, scale = self._units()
        return Neighborhoods(
            X=self.coordinates_,
            Y=(self.responses_ - location) / scale,
            own_mean=self.mean == "local",
            min_samples=float(self.min_samples),
        )

    def _points(self, X: Any) -> tuple[FloatArray, IntArray]:
        """Distinct coordinates of covariates, and which of them each row has."""
        check_is_fitted(self)
        table = self._read_covariates(X, self._kinds())
        coordinates = as_coordinates(table, self.covariates_, scale=self.scale)
        points, at = np.unique(coordinates, axis=0, return_inverse=True)
        return points, at.reshape(-1)

    def _settings(self) -> tuple[float, float, bool, dict[str, Any]]:
        """Bandwidth, alpha, whether to refit, and options of the graphical lasso."""
        return self.bandwidth_, self.alpha_, self.refit, {"tol": self.tol, **self._lasso()}

    def _lasso(self) -> dict[str, Any]:
        return {"penalize_diagonal": self.penalize_diagonal, "max_iter": self.max_iter}

    def _search(self, rows: Neighborhoods, generator: np.random.Generator) -> KernelSearch:
        """Judge what there is to choose; with nothing to choose, give back what was asked for."""
        bandwidths = np.array([self.bandwidth], dtype=object)
        if isinstance(self.bandwidth, str):
            bandwidths = bandwidth_grid(rows, self.anchors_, self.n_bandwidths)
        bandwidths = bandwidths.astype(np.float64)
        if isinstance(self.alpha, str):
            alphas = alpha_grids(
                rows, self.anchors_, bandwidths, n_alphas=self.n_alphas, ratio=self.alpha_ratio
            )
        else:
            alphas = np.full((len(bandwidths), 1), float(self.alpha))
        if alphas.size == 1:
            return KernelSearch(bandwidths, alphas, np.full((1, 1), np.nan), 0)
        return search(
            rows,
            bandwidths,
            alphas,
            refit=self.refit,
            lasso={"tol": max(self.tol, SEARCH_TOL), **self._lasso()},
            cv=self.cv,
            n_anchors=self.n_anchors,
            random_state=generator,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )

    def _keep(self, found: KernelSearch) -> None:
        """Store the choice, and warn where it sits at an end."""
        first, second = found.best
        self.bandwidth_ = float(found.bandwidths[first])
        self.alpha_ = float(found.alphas[first, second])
        self.bandwidths_, self.alphas_ = found.bandwidths, found.alphas
        p = len(self.response_names_)
        constant = p * np.log(2.0 * np.pi) + 2.0 * float(np.log(self._units()[1]).sum())
        self.heldout_ = None if found.risks.size == 1 else -0.5 * (found.risks + constant)
        if found.n_unconverged:
            warnings.warn(
                f"Of the fits in the search, {found.n_unconverged} stopped above their tolerance. "
                "Raise max_iter, or raise alpha_ratio to leave out the smallest alphas.",
                ConvergenceWarning,
                stacklevel=3,
            )
        if len(found.bandwidths) > 1 and first == len(found.bandwidths) - 1:
            warnings.warn(
                f"The narrowest bandwidth tried, {self.bandwidth_:.3g}, is the best, so a narrower "
                "one may be better. It leaves min_samples effective rows at the typical x: lower "
                "min_samples to search further, or use GraphTree if the network changes at "
                "borders.",
                SelectionWarning,
                stacklevel=3,
            )
        if found.alphas.shape[1] > 1 and second == found.alphas.shape[1] - 1:
            smaller = found.alphas[first, -1] / found.alphas[first, 0] / 10
            warnings.warn(
                f"The smallest alpha tried, {self.alpha_:.3g}, is the best, so a smaller one may "
                f"be better. Pass alpha_ratio={smaller:.1g} to search further.",
                SelectionWarning,
                stacklevel=3,
            )

    def _check_anchors(self, rows: Neighborhoods) -> None:
        """Fit at the anchors, for the certificate, and to all rows together."""
        points = self.coordinates_[self.anchors_]
        order = neighboring_order(points)
        fits, _ = fit_points(rows, points[order], *self._settings())
        weights, _ = rows.weights(points, self.bandwidth_)
        self.effective_samples_ = effective_samples(weights)
        alike = np.full((1, len(rows.Y)), 1.0 / len(rows.Y))
        _, alpha, refit, lasso = self._settings()
        pooled = fit_nearby(rows.moments(alike)[1], alpha, refit=refit, **lasso)
        self.graph_ = Graph.from_precision(pooled.precision[0], names=self.response_names_)
        self.gap_ = float(fits.gap.max())
        self.n_iter_ = int(fits.n_iter.max())
        self.converged_ = self.gap_ <= self.tol * len(self.response_names_)
        if not self.converged_:
            warnings.warn(
                f"The duality gap at some x is {self.gap_:.2g}, above tol * p = "
                f"{self.tol * len(self.response_names_):.2g}. Raise max_iter or alpha, or accept "
                "a larger tol.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _warn_of_width(self, widths: FloatArray) -> None:
        if n_wider := int(np.count_nonzero(widths > self.bandwidth_)):
            warnings.warn(
                f"At {n_wider} of {len(widths)} points fewer than min_samples="
                f"{self.min_samples} effective rows are near; the bandwidth was widened there, up "
                f"to {widths.max():.3g} from {self.bandwidth_:.3g}.",
                DataWarning,
                stacklevel=3,
            )


def fit_points(
    rows: Neighborhoods,
    points: FloatArray,
    bandwidth: float,
    alpha: float,
    refit: bool,
    lasso: dict[str, Any],
) -> tuple[NearbyFits, FloatArray]:
    """Fit the Gaussian at each point; return the bandwidth at each as well."""
    weights, widths = rows.weights(points, bandwidth)
    _, S = rows.moments(weights)
    return fit_nearby(S, alpha, refit=refit, **lasso), widths


#: Points whose graphs are found one after the other, each from the one before.
CHUNK = 200


class KernelGraph(KernelEstimator):
    r"""How the network of some variables varies smoothly with others.

    The responses Y are taken to be Gaussian given the covariates x, with a mean and a covariance
    that change smoothly with x. Both are averages of the rows, weighted by how near they are,

    .. math::
        \mu(x) = \sum_i w_i(x) y_i, \qquad
        S(x) = \sum_i w_i(x) (y_i - \mu(x))(y_i - \mu(x))^\top, \qquad
        w_i(x) \propto \exp\left(-\frac{\|x - x_i\|^2}{2 h^2}\right),

    and the graphical lasso of :math:`S(x)` at strength alpha gives the graph at x [1]_ [2]_.

    Parameters
    ----------
    bandwidth : float or "cv"
        How far the kernel reaches, h, in units of the range of each covariate, or of X itself with
        ``scale="none"``; or chosen together with alpha by the risk of held-out rows.
    alpha : float or "cv"
        Strength of the graphical lasso, the same at every x, or chosen.
    mean : {"local", "global"}
        The mean of the rows around x as above, or one mean for all.
    scale : {"range", "none"}
        Whether distances count in shares of the range of each numeric covariate, or in its units.
    refit : bool
        Whether the graphical lasso chooses edges only, and the Gaussian at x is maximum likelihood
        on them, where that exists. As in the leaves of `GraphTree`, alpha can then be as large as
        it takes to keep out false edges. With False, ``predict_precision`` is the graphical lasso.
    penalize_diagonal : bool
        Whether the graphical lasso shrinks the diagonal, too.
    standardize : bool
        Scale the responses to unit variance, so that alpha is in units of correlations.
    min_samples : int
        Effective rows that the average at any x has at least: where there are fewer, h is widened
        at that x until it has, and a `DataWarning` says so.
    n_bandwidths : int
        Bandwidths to try, log-spaced from one that weighs all rows about alike down to one that
        leaves ``min_samples`` effective rows at the typical x. The search ends once two in a row
        are worse than the best before.
    n_alphas : int
        Strengths tried at each bandwidth, log-spaced down from the smallest with no edge.
    alpha_ratio : float, optional
        The smallest of them as a share of the largest; by default :math:`0.2 / \sqrt{m}` for m
        effective rows, at most 0.05, and 0.1 with no more than p.
    cv : int, splitter or iterable
        Folds of the search; a number is shuffled by ``random_state``.
    n_anchors : int
        Held-out x in each fold at which the search looks, each judged by the held-out rows around
        it; all of them, each judged by its own row, where they are not more.
    tol : float
        Stop a graphical lasso once its duality gap is at most ``tol * p``.
    max_iter : int
        Largest number of iterations of one graphical lasso.
    n_jobs : int, optional
        Folds of the search, or batches of points to predict at, that run at a time. Results do
        not depend on it.
    random_state : int, Generator, RandomState or None
        Shuffles folds and draws anchors.
    verbose : int
        Above 0, a progress bar is drawn on standard error.

    Attributes
    ----------
    bandwidth_, alpha_ : float
        The choice.
    bandwidths_ : ndarray of shape (n_bandwidths,)
        Bandwidths tried, from wide to narrow.
    alphas_ : ndarray of shape (n_bandwidths, n_alphas)
        Strengths tried at each.
    heldout_ : ndarray of shape (n_bandwidths, n_alphas) or None
        Mean log-likelihood of held-out rows; None where nothing was chosen.
    anchors_ : ndarray of int
        Rows of X, spread over them, at which the fit was checked.
    effective_samples_ : ndarray
        Effective number of rows behind the graph at each of them.
    graph_ : Graph
        The graph of all rows together at the same alpha, for comparison.
    covariates_ : list of Covariate
        Kind and range of each covariate.
    response_names_ : list of str
        Names of the responses.
    coordinates_, responses_ : ndarray
        The rows, as predictions need them: covariates as coordinates, and responses.
    gap_ : float
        Largest duality gap at the anchors.
    converged_ : bool
        Whether it met the tolerance.
    n_iter_ : int
        Most iterations at any of them.
    n_features_in_ : int
        Number of covariates.
    feature_names_in_ : ndarray of str
        When X is a data frame with text column names.

    See Also
    --------
    GraphTree : For networks that change at borders, in a few covariates out of many.

    Notes
    -----
    Distances weigh all covariates alike. With more than two or three, few rows are near any x, and
    covariates that do not matter blur those that do.

    A boolean covariate counts as 0 or 1; two levels of a categorical one are 1 apart, and a level
    that the fit did not see is as far from all. Points beyond the range are served by whatever
    rows are nearest.

    References
    ----------
    .. [1] Zhou, Lafferty and Wasserman (2010). Time varying undirected graphs. *Machine Learning*
       80. https://doi.org/10.1007/s10994-010-5180-0
    .. [2] Liu, Chen, Lafferty and Wasserman (2010). Graph-valued regression. *Advances in Neural
       Information Processing Systems* 23. https://doi.org/10.48550/arXiv.1006.3972

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise import KernelGraph
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(600, 1))
    >>> Y = rng.normal(size=(600, 3))
    >>> Y[:, 0] += (2 * X[:, 0] - 1) * Y[:, 1]
    >>> model = KernelGraph(bandwidth=0.1, alpha=0.2).fit(X, Y)
    >>> [graph.weights[0, 1].round(1).item() for graph in model.predict_graphs([[0], [0.5], [1]])]
    [-0.6, 0.0, 0.6]
    """

    _methods = (
        "The network at each value of the covariates was estimated from rows weighted by a kernel "
        "of their distance to it (Zhou et al. 2010)."
    )
    _cites = ("zhou2010",)

    def __init__(
        self,
        bandwidth: float | str = "cv",
        alpha: float | str = "cv",
        *,
        mean: str = "local",
        scale: str = "range",
        refit: bool = True,
        penalize_diagonal: bool = False,
        standardize: bool = True,
        min_samples: int = 10,
        n_bandwidths: int = 12,
        n_alphas: int = 12,
        alpha_ratio: float | None = None,
        cv: Any = 3,
        n_anchors: int = 60,
        tol: float = 1e-6,
        max_iter: int = 5000,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.bandwidth = bandwidth
        self.alpha = alpha
        self.mean = mean
        self.scale = scale
        self.refit = refit
        self.penalize_diagonal = penalize_diagonal
        self.standardize = standardize
        self.min_samples = min_samples
        self.n_bandwidths = n_bandwidths
        self.n_alphas = n_alphas
        self.alpha_ratio = alpha_ratio
        self.cv = cv
        self.n_anchors = n_anchors
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, Y: Any) -> Self:
        """Choose bandwidth and alpha, and keep the rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
            Covariates: numbers, booleans, text or categories.
        Y : array-like or data frame of shape (n, p)
            Responses, the variables of the network.

        Returns
        -------
        KernelGraph
        """
        self._check_parameters()
        covariates, responses = self._read(X, Y)
        if responses.n_samples <= self.min_samples:
            raise InputError(
                f"There are {responses.n_samples} rows, and min_samples={self.min_samples} asks "
                "for more. Take more rows, or a smaller min_samples."
            )
        self.covariates_ = describe_covariates(
            covariates, scale=self.scale, bounds=None, names=self._names()
        )
        self.response_names_ = list(responses.names)
        self.coordinates_ = as_coordinates(covariates, self.covariates_, scale=self.scale)
        self.responses_ = responses.values
        rows = self._neighborhoods()
        generator = as_generator(self.random_state)
        all_rows = np.arange(responses.n_samples)
        self.anchors_ = choose_anchors(all_rows, self.n_anchors, generator)
        found = self._search(rows, generator)
        self._keep(found)
        self._check_anchors(rows)
        return self

    def predict_mean(self, X: Any) -> FloatArray:
        """Mean of the responses for each row of covariates, shape (n, p)."""
        points, at = self._points(X)
        rows = self._neighborhoods()
        mean = np.empty((len(points), len(self.response_names_)))
        for part in chunks(np.arange(len(points)), CHUNK):
            weights, _ = rows.weights(points[part], self.bandwidth_)
            mean[part] = rows.moments(weights)[0]
        location, scale = self._units()
        return (location + scale * mean)[at]

    def predict_precision(self, X: Any) -> FloatArray:
        """Precision matrix of the responses for each row of covariates, shape (n, p, p).

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
            Covariates as in the fit. Graphs are found once for each distinct row.

        Returns
        -------
        ndarray of shape (n, p, p)
        """
        points, at = self._points(X)
        order = neighboring_order(points)
        rows = self._neighborhoods()
        parts = chunks(order, CHUNK)
        tasks = [(rows, points[part], *self._settings()) for part in parts]
        fits, widths = zip(
            *parallel_map(fit_points, tasks, n_jobs=self.n_jobs, verbose=0), strict=True
        )
        precision = np.empty((len(points), *fits[0].precision.shape[1:]))
        for part, fit in zip(parts, fits, strict=True):
            precision[part] = fit.precision
        self._warn_of_width(np.concatenate(widths))
        _, scale = self._units()
        return (precision / np.outer(scale, scale))[at]

    def effective_samples(self, X: Any) -> FloatArray:
        r"""Effective number of rows behind the graph at each row of covariates.

        .. math:: m(x) = \left(\sum_i w_i(x)\right)^2 / \sum_i w_i(x)^2

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
            Covariates as in the fit.

        Returns
        -------
        ndarray of shape (n,)
            At least ``min_samples``.
        """
        points, at = self._points(X)
        rows = self._neighborhoods()
        counts = [
            effective_samples(rows.weights(points[part], self.bandwidth_)[0])
            for part in chunks(np.arange(len(points)), CHUNK)
        ]
        return np.concatenate(counts)[at]
