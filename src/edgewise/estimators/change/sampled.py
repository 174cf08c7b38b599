"""Networks of two groups by importance-sampled likelihood, with polynomial features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from edgewise._core.constraints import is_number
from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, FloatArray
from edgewise.data.labels import TwoSamples
from edgewise.solvers import (
    RatioSolution,
    Solution,
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


def polynomial_features(samples: TwoSamples, degree: int) -> dict[str, Any]:
    """Arguments of a solver for polynomial features whose powers have a standard deviation of 1."""
    rows = np.concatenate([samples.first, samples.second])
    scale = np.stack([np.std(rows**k, axis=0) for k in range(1, degree + 1)])
    return polynomial_options(degree, np.where(scale > 0, scale, 1.0))


def polynomial_options(degree: int, power_scale: FloatArray) -> dict[str, Any]:
    """Arguments of a solver for polynomial features with a given scale of powers."""
    return {"basis": "polynomial", "degree": degree, "power_scale": power_scale}


def sampled_likelihood_of(model: Any) -> SampledLikelihood:
    """Read and check the parameters of an estimator that has an importance-sampled form."""
    if not model.standardize:
        raise InputError(
            "Importance sampling draws rows in standardised units, so it takes standardize=True."
        )
    if model.covariance != "empirical":
        raise InputError(
            f"covariance={model.covariance!r} has no meaning for a sampled likelihood, which sees "
            'the rows. Leave it at "empirical".'
        )
    for name, least in (("degree", 2), ("n_proposals", 2)):
        value = getattr(model, name)
        if not isinstance(value, (int, np.integer)) or value < least:
            raise InputError(f"{name} must be a whole number of at least {least}, got {value!r}.")
    for name in ("ridge", "proposal_scale"):
        if not is_number(getattr(model, name), least=0) or getattr(model, name) == 0:
            raise InputError(f"{name} must be a positive number, got {getattr(model, name)!r}.")
    is_seed = isinstance(model.random_state, (int, np.integer))
    return SampledLikelihood(
        degree=int(model.degree),
        ridge=float(model.ridge),
        n_proposals=int(model.n_proposals),
        proposal_scale=float(model.proposal_scale),
        # The same rows for every alpha, fold and score: a generator would give others each time.
        seed=int(model.random_state) if is_seed else 0,
        tol=model.tol,
        max_iter=model.max_iter,
    )


class SampledModels(NamedTuple):
    """Log-linear models of both groups, as far as scoring goes."""

    thetas: FloatArray
    features: dict[str, Any]


@dataclass(frozen=True)
class SampledFit:
    """Log-linear models of both groups, and what of them changed."""

    solution: Solution
    thetas: FloatArray
    features: dict[str, Any]

    @property
    def converged(self) -> bool:
        """Whether the solver met its tolerance."""
        return self.solution.converged

    @cached_property
    def change(self) -> FloatArray:
        """Length of the vector of differences of each pair."""
        return np.asarray(np.sqrt(np.sum((self.thetas[1] - self.thetas[0]) ** 2, axis=2)))

    @property
    def adjacency(self) -> BoolArray:
        """Which pairs change."""
        joined: BoolArray = self.change != 0
        np.fill_diagonal(joined, False)
        return joined


@dataclass(frozen=True, kw_only=True)
class SampledLikelihood:
    """How the likelihood is approximated, and how its models are fitted.

    Attributes
    ----------
    degree : int
        Of the polynomial features.
    ridge : float
        Curvature of both models, positive.
    n_proposals : int
        Rows that stand for the normalising integral.
    proposal_scale : float
        Their standard deviation, in units of that of the data.
    seed : int
        Draws them: the same rows for every alpha and fold.
    tol, max_iter
        Of the solvers.
    """

    degree: int
    ridge: float
    n_proposals: int
    proposal_scale: float
    seed: int
    tol: float
    max_iter: int

    def proposals(self, n_features: int) -> Proposals:
        """Draw the rows that stand for the integral."""
        return draw_proposals(
            n_features, self.n_proposals, scale=self.proposal_scale, rng=self.seed
        )

    def fused_path(self, samples: TwoSamples, alphas: FloatArray) -> Iterator[SampledFit]:
        """Fit both models with a penalty on their difference."""
        features = polynomial_features(samples, self.degree)
        path = sampled_fused_path(
            samples.first, samples.second, self.proposals(samples.n_features), alphas,
            ridge=self.ridge, tol=self.tol, max_iter=self.max_iter, **features,
        )  # fmt: skip
        for solution in path:
            yield SampledFit(solution, np.asarray(solution.value), features)

    def fused_alpha_max(self, samples: TwoSamples) -> float:
        """Smallest alpha at which the two models are the same."""
        return sampled_fused_alpha_max(
            samples.first, samples.second, **polynomial_features(samples, self.degree)
        )

    def separate_path(self, samples: TwoSamples, alphas: FloatArray) -> Iterator[SampledFit]:
        """Fit each model with a penalty of its own."""
        features = polynomial_features(samples, self.degree)
        proposals = self.proposals(samples.n_features)
        paths = [
            density_ratio_path(
                rows, proposals.rows, alphas, ridge=self.ridge, offset=-proposals.log_density,
                tol=self.tol, max_iter=self.max_iter, **features,
            )
            for rows in (samples.first, samples.second)
        ]  # fmt: skip
        for first, second in zip(*paths, strict=True):
            thetas = np.stack([first.value, second.value])
            yield SampledFit(_both(first, second), thetas, features)

    def separate_alpha_max(self, samples: TwoSamples) -> float:
        """Smallest alpha at which both models are empty."""
        features = polynomial_features(samples, self.degree)
        proposals = self.proposals(samples.n_features)
        return max(
            ratio_alpha_max(rows, proposals.rows, offset=-proposals.log_density, **features)
            for rows in (samples.first, samples.second)
        )

    def score(self, models: SampledFit | SampledModels, samples: TwoSamples) -> float:
        """Mean over the groups of the approximate log-likelihood of a row."""
        proposals = self.proposals(samples.n_features)
        total = 0.0
        for theta, rows in zip(models.thetas, (samples.first, samples.second), strict=True):
            ratio = log_density_ratio(proposals.rows, theta, **models.features)
            ratio = ratio - proposals.log_density
            normalizer = ratio.max() + np.log(np.mean(np.exp(ratio - ratio.max())))
            total += float(np.mean(log_density_ratio(rows, theta, **models.features)))
            total -= float(normalizer)
        return 0.5 * total


def _both(first: RatioSolution, second: RatioSolution) -> Solution:
    """Add up the certificates of two problems that have nothing to do with each other."""
    return Solution(
        value=np.stack([first.value, second.value]),
        objective=first.objective + second.objective,
        gap=first.gap + second.gap,
        n_iter=max(first.n_iter, second.n_iter),
        converged=first.converged and second.converged,
    )
