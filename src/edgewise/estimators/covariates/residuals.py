"""Responses with the linear part of covariates taken off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray
from edgewise.data.checks import varying_columns
from edgewise.data.table import Table
from edgewise.estimators.covariates.tree_nodes import Covariate
from edgewise.estimators.gaussian.graphical_lasso import GaussianGraph
from edgewise.io.messages import quote_names
from edgewise.selection import gaussian_log_likelihood
from edgewise.solvers.gaussian.graphical_lasso import PrecisionSolution, graphical_lasso_path

#: Share of a response's variance below which nothing is left of it.
EXPLAINED = 1e-10


@dataclass(frozen=True, kw_only=True, eq=False)
class Residuals:
    """Regression of responses on a design, and what it leaves.

    Attributes
    ----------
    location, response_location : ndarray
        Means of the columns of the design and of the responses.
    coef : ndarray of shape (d, p)
        ``coef[j, k]`` is the effect of column j on response k.
    S : ndarray of shape (p, p)
        Covariance that is left, divided by ``scale``.
    scale : ndarray of shape (p,)
        Unit of each response.
    is_plain : bool
        Whether the regression is least squares.
    """

    location: FloatArray
    response_location: FloatArray
    coef: FloatArray
    S: FloatArray
    scale: FloatArray
    is_plain: bool

    def mean(self, design: FloatArray) -> FloatArray:
        """Mean of the responses given rows of the design."""
        return self.response_location + (design - self.location) @ self.coef


def take_off(
    design: FloatArray,
    Y: FloatArray,
    names: Sequence[str],
    *,
    covariate_alpha: float | str,
    standardize: bool,
) -> Residuals:
    r"""Regress responses on a design.

    The covariance that is left is :math:`S_Y - S_{YX} \Omega_X S_{XY}`, where :math:`\Omega_X` is
    a graphical lasso of the design, or its inverse covariance where ``covariate_alpha`` is 0 or
    the difference would not be positive definite.
    """
    location, response_location = design.mean(axis=0), Y.mean(axis=0)
    X, Z = design - location, Y - response_location
    is_plain = covariate_alpha == 0
    if not is_plain:
        Omega = _design_precision(X, covariate_alpha)
        cross = X.T @ Z / len(X)
        S = Z.T @ Z / len(Z) - cross.T @ Omega @ cross
        coef: FloatArray = Omega @ cross
        deviation = Z.std(axis=0)
        is_plain = bool(np.linalg.eigvalsh(S / np.outer(deviation, deviation))[0] <= EXPLAINED)
    if is_plain:
        # On one scale, or a column of small numbers would count as none.
        unit = np.where(varying_columns(design), X.std(axis=0), 1.0)
        coef = np.linalg.lstsq(X / unit, Z, rcond=None)[0] / unit[:, None]
        left = Z - X @ coef
        S = left.T @ left / len(left)
    gone: list[int] = np.flatnonzero(S.diagonal() <= EXPLAINED * Z.var(axis=0)).tolist()
    if gone:
        raise InputError(
            f"The covariates explain responses {quote_names([names[k] for k in gone])} completely, "
            f"with {X.shape[1]} columns for {len(X)} rows. Leave covariates out, or take more rows."
        )
    scale = np.sqrt(S.diagonal()) if standardize else np.ones(Y.shape[1])
    return Residuals(
        location=location,
        response_location=response_location,
        coef=coef,
        S=(S + S.T) / 2.0 / np.outer(scale, scale),
        scale=scale,
        is_plain=is_plain,
    )


@dataclass(frozen=True)
class ResidualFit:
    """A graphical lasso of what a regression leaves."""

    solution: PrecisionSolution
    residuals: Residuals

    @property
    def converged(self) -> bool:
        """Whether the solver met its tolerance."""
        return self.solution.converged

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        Theta = self.solution.value
        return (int(np.count_nonzero(Theta)) - len(Theta)) // 2

    @property
    def is_complete(self) -> bool:
        """Whether every pair is joined."""
        p = len(self.residuals.S)
        return self.n_edges == p * (p - 1) // 2

    @property
    def log_likelihood(self) -> float:
        """Mean log-likelihood of the rows of the fit, less a constant."""
        return gaussian_log_likelihood(self.solution.value, self.residuals.S)

    @property
    def precision(self) -> FloatArray:
        """Precision in the units of the responses."""
        scale = self.residuals.scale
        return self.solution.value / np.outer(scale, scale)

    def score(self, design: FloatArray, Y: FloatArray) -> float:
        """Mean log-likelihood of other rows."""
        deviation = Y - self.residuals.mean(design)
        return gaussian_log_likelihood(self.precision, deviation.T @ deviation / len(deviation))


def fit_path(residuals: Residuals, alphas: FloatArray, **lasso: Any) -> Iterator[ResidualFit]:
    """Solve for each alpha."""
    for solution in graphical_lasso_path(residuals.S, alphas, **lasso):
        yield ResidualFit(solution, residuals)


def design_of(table: Table, covariates: Sequence[Covariate]) -> tuple[FloatArray, list[str]]:
    """Columns for a regression, and their names.

    Numbers stay as they are and booleans become 0 and 1. A categorical covariate has a column for
    each level but the first.
    """
    columns: list[FloatArray] = []
    names: list[str] = []
    for k, covariate in enumerate(covariates):
        values = table.values[:, k]
        if covariate.kind != "categorical":
            columns.append(values)
            names.append(covariate.name)
            continue
        levels = table.levels[k] or ()
        seen = [levels[code] for code in np.unique(values).astype(np.int64).tolist()]
        if new := [level for level in seen if level not in covariate.levels]:
            raise InputError(
                f"Covariate '{covariate.name}' has levels {quote_names(new)} that the fit did not "
                "see, so that nothing is known of their effect. Drop those rows."
            )
        for level in covariate.levels[1:]:
            code = levels.index(level) if level in levels else -1
            columns.append((values == code).astype(np.float64))
            names.append(f"{covariate.name}={level}")
    return np.column_stack(columns), names


def _design_precision(X: FloatArray, alpha: float | str) -> FloatArray:
    """Sparse precision of the columns that vary; zeros for those that do not."""
    varies = np.flatnonzero(X.std(axis=0) > 0)
    Omega = np.zeros((X.shape[1], X.shape[1]))
    if len(varies) == 1:
        Omega[varies, varies] = 1.0 / X[:, varies].var()
    elif len(varies):
        model = GaussianGraph(alpha, covariance="correlation").fit(X[:, varies])
        Omega[np.ix_(varies, varies)] = model.precision_
    return Omega
