"""A network that varies smoothly with covariates, by kernel smoothing, as an estimator."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from edgewise._core.constraints import Constraint, Number, OneOf, check_parameters
from edgewise._core.errors import DataWarning, InputError
from edgewise._core.memory import Arrays
from edgewise._core.parallel import as_generator, parallel_map
from edgewise._core.typing import FloatArray, IntArray, RandomState
from edgewise.data.table import Table
from edgewise.estimators.covariates.base import CovariateEstimator, describe_covariates
from edgewise.estimators.covariates.kernel_search import (
    SEARCH_TOL,
    KernelCV,
    KernelSearch,
    Neighborhoods,
    alpha_grids,
    as_coordinates,
    bandwidth_grid,
    choose_anchors,
    chunks,
    neighboring_order,
    search_bandwidths,
)
from edgewise.graph import Graph
from edgewise.selection import SelectionWarning
from edgewise.selection.choose import ConvergenceWarning
from edgewise.selection.rules import Strength
from edgewise.solvers.covariates.cell_fits import NearbyFits, fit_nearby
from edgewise.stats.moments import effective_samples

#: Points whose graphs are found one after the other, each from the one before.
CHUNK = 200


class KernelGraph(CovariateEstimator):
    r"""How the network of some variables varies smoothly with others.

    The responses Y are taken to be Gaussian given the covariates x, with a mean and a covariance
    that change smoothly with x. Both are averages of the rows, weighted by how near they are,

    .. math::
        \mu(x) = \sum_i w_i(x) y_i, \qquad
        S(x) = \sum_i w_i(x) (y_i - \mu(x))(y_i - \mu(x))^\top, \qquad
        w_i(x) \propto \exp\left(-\frac{\|x - x_i\|^2}{2 h^2}\right),

    and the graphical lasso of :math:`S(x)` with penalty alpha gives the graph at x [1]_ [2]_.

    Parameters
    ----------
    bandwidth : float, "cv" or KernelCV
        How far the kernel reaches, h, in units of the range of each covariate, or of X itself with
        ``scale="none"``; or chosen together with alpha by the risk of held-out rows. The settings
        of that search, see `KernelCV`, are those of whichever of the two parameters is one.
    alpha : float, "cv" or KernelCV
        Penalty of the graphical lasso, the same at every x, or chosen.
    mean : {"local", "global"}
        The mean of the rows around x as above, or one mean for all.
    scale : {"range", "none"}
        Whether distances count in shares of the range of each numeric covariate, or in its units.
    refit : bool
        Whether the graphical lasso chooses edges only, and the Gaussian at x is maximum likelihood
        on them, where that exists. As in the leaves of `GraphTree`, alpha can then be as large as
        it takes to keep out false edges. With False, ``predict_precision`` is the graphical lasso.
    penalize_diagonal : bool
        Whether the graphical lasso shrinks the diagonal, too, as published; it is left free by
        default, which shrinks no variances.
    standardize : bool
        Scale the responses to unit variance, so that alpha is in units of correlations.
    min_samples : int
        Effective rows that the average at any x has at least: where there are fewer, h is widened
        at that x until it has, and a `DataWarning` says so.
    n_anchors : int
        Rows at which the fit is checked; and held-out x in each fold at which a search looks, each
        scored on the held-out rows around it, or on its own row where all of them are anchors.
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
        Alphas tried at each.
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

    _copies_held = 3.0
    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "bandwidth": Strength(KernelCV(), why_positive="kernel_without_rows"),
        "alpha": Strength(KernelCV()),
        "mean": OneOf("local", "global"),
        "scale": OneOf("range", "none"),
        "min_samples": Number(at_least=2, is_whole=True),
        "n_anchors": Number(at_least=2, is_whole=True),
        "tol": Number(above=0),
        "max_iter": Number(at_least=1, is_whole=True),
    }

    def __init__(
        self,
        bandwidth: float | str | KernelCV = "cv",
        alpha: float | str | KernelCV = "cv",
        *,
        mean: str = "local",
        scale: str = "range",
        refit: bool = True,
        penalize_diagonal: bool = False,
        standardize: bool = True,
        min_samples: int = 10,
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
        check_parameters(self, self._constraints)
        rule = self._rule()
        covariates, responses = self._read(X, Y)
        if responses.n_samples <= self.min_samples:
            raise InputError(
                "too_few_rows_for_kernel",
                n_samples=responses.n_samples,
                min_samples=self.min_samples,
            )
        self.covariates_ = describe_covariates(covariates)
        self.response_names_ = list(responses.names)
        self.coordinates_ = as_coordinates(covariates, self.covariates_, scale=self.scale)
        self.responses_ = responses.values
        rows = self._neighborhoods()
        generator = as_generator(self.random_state)
        self.anchors_ = choose_anchors(np.arange(responses.n_samples), self.n_anchors, generator)
        found = self._search(rows, rule, generator)
        first, second = found.best
        self.bandwidth_ = float(found.bandwidths[first])
        self.alpha_ = float(found.alphas[first, second])
        self.bandwidths_, self.alphas_ = found.bandwidths, found.alphas
        constant = responses.n_features * np.log(2.0 * np.pi)
        constant += 2.0 * float(np.log(self._units()[1]).sum())
        self.heldout_ = None if found.risks.size == 1 else -0.5 * (found.risks + constant)
        self._warn_of_search(found)
        self._check_anchors(rows)
        return self

    def _rule(self) -> KernelCV:
        """Return the settings of the search."""
        given = [one for one in (self.bandwidth, self.alpha) if isinstance(one, KernelCV)]
        if len(given) == 2 and given[0] != given[1]:
            raise InputError("kernel_search_settings", given=given[0], given2=given[1])
        return given[0] if given else KernelCV()

    def _search(
        self, rows: Neighborhoods, rule: KernelCV, generator: np.random.Generator
    ) -> KernelSearch:
        """Score what there is to choose; with nothing to choose, return what was given."""
        if isinstance(self.bandwidth, (str, KernelCV)):
            bandwidths = bandwidth_grid(rows, self.anchors_, rule.n_bandwidths)
        else:
            bandwidths = np.array([self.bandwidth], dtype=np.float64)
        if isinstance(self.alpha, (str, KernelCV)):
            alphas = alpha_grids(rows, self.anchors_, bandwidths, rule)
        else:
            alphas = np.full((len(bandwidths), 1), float(self.alpha))
        if alphas.size == 1:
            return KernelSearch(bandwidths, alphas, np.full((1, 1), np.nan), 0)
        return search_bandwidths(
            rows,
            bandwidths,
            alphas,
            rule,
            n_anchors=self.n_anchors,
            refit=self.refit,
            lasso={**self._lasso(), "tol": max(self.tol, SEARCH_TOL)},
            generator=generator,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )

    def _warn_of_search(self, found: KernelSearch) -> None:
        first, second = found.best
        if found.n_unconverged:
            warnings.warn(
                ConvergenceWarning("unconverged_kernel_fits", n_unconverged=found.n_unconverged),
                stacklevel=3,
            )
        if len(found.bandwidths) > 1 and first == len(found.bandwidths) - 1:
            warnings.warn(
                SelectionWarning("smallest_bandwidth_chosen", bandwidth=self.bandwidth_),
                stacklevel=3,
            )
        if found.alphas.shape[1] > 1 and second == found.alphas.shape[1] - 1:
            smaller = found.alphas[first, -1] / found.alphas[first, 0] / 10
            warnings.warn(
                SelectionWarning("smallest_alpha_of_kernel", alpha=self.alpha_, smaller=smaller),
                stacklevel=3,
            )

    def _check_anchors(self, rows: Neighborhoods) -> None:
        """Fit at the anchors, for the certificate, and to all rows together."""
        points = self.coordinates_[self.anchors_]
        order = neighboring_order(points)
        fits, _ = _fit_points(
            rows, points[order], self.bandwidth_, self.alpha_, self.refit, self._lasso()
        )
        weights, _ = rows.weights(points, self.bandwidth_)
        self.effective_samples_ = effective_samples(weights)
        alike = np.full((1, len(rows.Y)), 1.0 / len(rows.Y))
        pooled = fit_nearby(rows.moments(alike)[1], self.alpha_, refit=self.refit, **self._lasso())
        self.graph_ = Graph.from_precision(pooled.precision[0], names=self.response_names_)
        self.gap_ = float(fits.gap.max())
        self.n_iter_ = int(fits.n_iter.max())
        self.converged_ = self.gap_ <= self.tol * len(self.response_names_)
        if not self.converged_:
            warnings.warn(
                ConvergenceWarning(
                    "gap_at_x", gap=self.gap_, tol=self.tol * len(self.response_names_)
                ),
                stacklevel=3,
            )

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
        check_is_fitted(self)
        points, at = self._points(self._read_covariates(X, self._kinds()))
        rows = self._neighborhoods()
        counts = [
            effective_samples(rows.weights(points[part], self.bandwidth_)[0])
            for part in chunks(np.arange(len(points)), CHUNK)
        ]
        return np.concatenate(counts)[at]

    def _mean_at(self, covariates: Table) -> FloatArray:
        points, at = self._points(covariates)
        rows = self._neighborhoods()
        mean = np.empty((len(points), len(self.response_names_)))
        for part in chunks(np.arange(len(points)), CHUNK):
            weights, _ = rows.weights(points[part], self.bandwidth_)
            mean[part] = rows.moments(weights)[0]
        location, scale = self._units()
        return (location + scale * mean)[at]

    def _precision_at(self, covariates: Table) -> FloatArray:
        points, at = self._points(covariates)
        rows, lasso = self._neighborhoods(), self._lasso()
        parts = chunks(neighboring_order(points), CHUNK)
        tasks = [
            (rows, points[part], self.bandwidth_, self.alpha_, self.refit, lasso) for part in parts
        ]
        fits, widths = zip(
            *parallel_map(_fit_points, tasks, n_jobs=self.n_jobs, verbose=0), strict=True
        )
        precision = np.empty((len(points), *fits[0].precision.shape[1:]))
        for part, fit in zip(parts, fits, strict=True):
            precision[part] = fit.precision
        self._warn_of_width(np.concatenate(widths))
        _, scale = self._units()
        return (precision / np.outer(scale, scale))[at]

    def _points(self, covariates: Table) -> tuple[FloatArray, IntArray]:
        """Distinct coordinates of covariates, and which of them each row has."""
        coordinates = as_coordinates(covariates, self.covariates_, scale=self.scale)
        points, at = np.unique(coordinates, axis=0, return_inverse=True)
        return points, at.reshape(-1)

    def _units(self) -> tuple[FloatArray, FloatArray]:
        """Location and scale of the responses, which the search sees standardised."""
        deviation: FloatArray = self.responses_.std(axis=0)
        scale = deviation if self.standardize else np.ones_like(deviation)
        return self.responses_.mean(axis=0), scale

    def _neighborhoods(self) -> Neighborhoods:
        """Rows of the fit, to be averaged around points."""
        location, scale = self._units()
        return Neighborhoods(
            X=self.coordinates_,
            Y=(self.responses_ - location) / scale,
            own_mean=self.mean == "local",
            min_samples=float(self.min_samples),
        )

    def _lasso(self) -> dict[str, Any]:
        """Options of the graphical lasso."""
        return {
            "penalize_diagonal": self.penalize_diagonal,
            "tol": self.tol,
            "max_iter": self.max_iter,
        }

    def _arrays_held(self, n_rows: int, n_features: int) -> list[Arrays]:
        anchors = min(n_rows, self.n_anchors)
        held = super()._arrays_held(n_rows, n_features)
        return [*held, Arrays(5.0, (anchors, n_features, n_features))]

    def _warn_of_width(self, widths: FloatArray) -> None:
        if n_wider := int(np.count_nonzero(widths > self.bandwidth_)):
            warnings.warn(
                DataWarning(
                    "bandwidth_widened",
                    n_wider=n_wider,
                    n_points=len(widths),
                    min_samples=self.min_samples,
                    widest=widths.max(),
                    bandwidth=self.bandwidth_,
                ),
                stacklevel=4,
            )


def _fit_points(
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
