"""Networks of two groups by importance-sampled likelihood, with polynomial features."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from edgewise._core.constraints import Constraint, Number, check_parameters
from edgewise._core.errors import InputError
from edgewise._core.plain_values import archived
from edgewise._core.typing import FloatArray
from edgewise.data.labels import TwoSamples
from edgewise.estimators.change.base import ChangeFit, ChangeLoss
from edgewise.estimators.change.density_ratio import power_scale
from edgewise.solvers import Solution
from edgewise.solvers.change.density_ratio import (
    density_ratio_path,
    log_density_ratio,
    ratio_alpha_max,
)
from edgewise.solvers.change.sampled_likelihood import (
    Proposals,
    draw_proposals,
    sampled_fused_alpha_max,
    sampled_fused_path,
)


@archived
@dataclass(frozen=True)
class SampledLikelihood:
    """Log-linear models with polynomial features, normalised by importance sampling.

    Takes the place of Gaussian models in `FusedNetworkChange` (``method``) and
    `SeparateNetworkChange` (``likelihood``), whose short form ``"sampled"`` stands for it.

    Parameters
    ----------
    degree : int
        Degree of the polynomials.
    ridge : float
        Curvature of both models.
    n_proposals : int
        Number of rows that stand for the integral.
    proposal_scale : float
        Their standard deviation, in units of that of the data.

    Examples
    --------
    >>> from edgewise import FusedNetworkChange, SampledLikelihood
    >>> model = FusedNetworkChange(method=SampledLikelihood(degree=4))
    """

    degree: int = 2
    ridge: float = 0.1
    n_proposals: int = 5000
    proposal_scale: float = 1.5

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "degree": Number(at_least=2, is_whole=True),
        "ridge": Number(above=0),
        "n_proposals": Number(at_least=2, is_whole=True),
        "proposal_scale": Number(above=0),
    }

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_parameters(self, self._constraints)

    def features(self, scale: FloatArray) -> dict[str, Any]:
        """Arguments of a solver for polynomial features with a given scale of powers."""
        return {"basis": "polynomial", "degree": self.degree, "power_scale": scale}


def as_sampled(value: Any) -> SampledLikelihood | None:
    """Return what ``"sampled"`` stands for, or the object itself; None for anything else."""
    if isinstance(value, str) and value == "sampled":
        return SampledLikelihood()
    return value if isinstance(value, SampledLikelihood) else None


def check_sampled(model: Any, likelihood: SampledLikelihood) -> dict[str, Any]:
    """Check that the parameters of an estimator go with it, and return the fields of a loss."""
    if not model.standardize:
        raise InputError("sampled_needs_standardize")
    if model.covariance != "empirical":
        raise InputError("sampled_ignores_covariance", covariance=model.covariance)
    is_seed = isinstance(model.random_state, (int, np.integer))
    return {
        "likelihood": likelihood,
        # The same rows for every alpha, fold and score: a generator would give others each time.
        "seed": int(model.random_state) if is_seed else 0,
        "standardize": model.standardize,
        "tol": model.tol,
        "max_iter": model.max_iter,
    }


class SampledRows(NamedTuple):
    """Rows of both groups, what their features are, and rows that stand for the integral."""

    samples: TwoSamples
    features: dict[str, Any]
    proposals: Proposals


@dataclass(frozen=True, kw_only=True, eq=False)
class SampledFusedLoss(ChangeLoss):
    """Log-linear models of both groups with a penalised difference, as a `ChangeLoss`.

    Attributes
    ----------
    likelihood : SampledLikelihood
        How the likelihood is approximated.
    seed : int
        Draws the proposals.
    """

    likelihood: SampledLikelihood
    seed: int

    def prepare(self, samples: TwoSamples) -> SampledRows:
        """Return the rows with their features and the proposals."""
        features = self.likelihood.features(power_scale(samples, self.likelihood.degree))
        return SampledRows(samples, features, self._proposals(samples.n_features))

    def largest_alpha(self, rows: SampledRows) -> float:
        """Return the smallest alpha at which the two models are the same."""
        return sampled_fused_alpha_max(rows.samples.first, rows.samples.second, **rows.features)

    def solve_path(self, rows: SampledRows, alphas: FloatArray) -> Iterator[ChangeFit]:
        """Yield one fit per alpha, each started from the one before."""
        path = sampled_fused_path(
            rows.samples.first, rows.samples.second, rows.proposals, alphas,
            ridge=self.likelihood.ridge, tol=self.tol, max_iter=self.max_iter, **rows.features,
        )  # fmt: skip
        for solution in path:
            yield _sampled_fit(solution, rows.features)

    def score(self, thetas: FloatArray, features: dict[str, Any], samples: TwoSamples) -> float:
        """Mean over the groups of the approximate log-likelihood of a row."""
        proposals = self._proposals(samples.n_features)
        total = 0.0
        for theta, rows in zip(thetas, (samples.first, samples.second), strict=True):
            ratio = log_density_ratio(proposals.rows, theta, **features)
            ratio = ratio - proposals.log_density
            normalizer = ratio.max() + np.log(np.mean(np.exp(ratio - ratio.max())))
            total += float(np.mean(log_density_ratio(rows, theta, **features)))
            total -= float(normalizer)
        return 0.5 * total

    def _proposals(self, n_features: int) -> Proposals:
        """Draw the rows that stand for the integral."""
        return draw_proposals(
            n_features,
            self.likelihood.n_proposals,
            scale=self.likelihood.proposal_scale,
            rng=self.seed,
        )


class SampledSeparateLoss(SampledFusedLoss):
    """Log-linear models of both groups, each with a penalty of its own, as a `ChangeLoss`."""

    def largest_alpha(self, rows: SampledRows) -> float:
        """Return the smallest alpha at which both models are empty."""
        proposals = rows.proposals
        return max(
            ratio_alpha_max(group, proposals.rows, offset=-proposals.log_density, **rows.features)
            for group in (rows.samples.first, rows.samples.second)
        )

    def solve_path(self, rows: SampledRows, alphas: FloatArray) -> Iterator[ChangeFit]:
        """Yield one fit per alpha, each started from the one before."""
        proposals = rows.proposals
        paths = [
            density_ratio_path(
                group, proposals.rows, alphas, ridge=self.likelihood.ridge,
                offset=-proposals.log_density, tol=self.tol, max_iter=self.max_iter,
                **rows.features,
            )
            for group in (rows.samples.first, rows.samples.second)
        ]  # fmt: skip
        for first, second in zip(*paths, strict=True):
            yield _sampled_fit(add_certificates(first, second), rows.features)


def _sampled_fit(solution: Solution, features: dict[str, Any]) -> ChangeFit:
    """Models of both groups; a change is the length of the difference of coefficients."""
    thetas = np.asarray(solution.value)
    change = np.asarray(np.sqrt(np.sum((thetas[1] - thetas[0]) ** 2, axis=2)))
    return ChangeFit(solution=solution, values=thetas, change=change, features=features)


def add_certificates(first: Solution, second: Solution) -> Solution:
    """Join the solutions of two problems that have nothing to do with each other."""
    return Solution(
        value=np.stack([first.value, second.value]),
        objective=first.objective + second.objective,
        gap=first.gap + second.gap,
        n_iter=max(first.n_iter, second.n_iter),
        converged=first.converged and second.converged,
    )
