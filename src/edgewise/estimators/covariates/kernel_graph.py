"""A network that varies smoothly with covariates, by kernel smoothing, as an estimator."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.parallel import as_generator, parallel_map
from edgewise._core.typing import FloatArray, RandomState
from edgewise.estimators.covariates.coding import describe_covariates
from edgewise.estimators.covariates.conditional import as_coordinates
from edgewise.estimators.covariates.kernel_base import KernelEstimator, fit_points
from edgewise.estimators.covariates.kernel_search import choose_anchors, chunks, neighboring_order
from edgewise.stats.kernel import effective_samples

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
