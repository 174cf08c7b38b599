"""The competitors with importance-sampled likelihoods: log-linear models with polynomials."""

import dataclasses

import numpy as np
import pytest
from sklearn.base import clone

import edgewise
from edgewise import CV, FusedNetworkChange, InputError, SampledLikelihood, SeparateNetworkChange
from edgewise.solvers import density_ratio
from edgewise.solvers.change.sampled_likelihood import draw_proposals, sampled_fused_path
from tests.messages import raises

FUSED = FusedNetworkChange(
    coupling=0.05, method=SampledLikelihood(n_proposals=400), random_state=0, standardize="pooled"
)
SEPARATE = SeparateNetworkChange(
    alpha=0.1, method=SampledLikelihood(n_proposals=400), random_state=0, standardize="pooled"
)


def with_likelihood(model, **option):
    """Copy a model, with other parameters of its likelihood."""
    likelihood = dataclasses.replace(model.method, **option)
    return clone(model).set_params(method=likelihood)


BOTH = [pytest.param(FUSED, id="fused"), pytest.param(SEPARATE, id="separate")]


def make_rows(n=150, seed=0):
    """Two groups whose correlations are alike; x0 and x1 of the second depend all the same."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * n, 3))
    X[n:, 1] *= np.sqrt(0.2 + X[n:, 0] ** 2)
    return X, np.repeat(["a", "b"], n)


def standardised(X, y):
    groups = [X[y == label] for label in ("a", "b")]
    centred = [rows - rows.mean(axis=0) for rows in groups]
    scale = np.sqrt(sum((rows**2).sum(axis=0) for rows in centred) / len(X))
    return [rows / scale for rows in centred]


@pytest.mark.parametrize("model", BOTH)
def test_sees_a_link_that_no_correlation_shows(model):
    X, y = make_rows(n=600)
    model = with_likelihood(model, degree=4).set_params(**{model._strength: 0.02}).fit(X, y)
    change = np.triu(model.change_, 1)
    assert np.unravel_index(change.argmax(), change.shape) == (0, 1)
    assert (model.change_ >= 0).all()
    assert model.converged_


def test_fused_is_what_its_solver_finds():
    X, y = make_rows()
    first, second = standardised(X, y)
    rows = np.concatenate([first, second])
    scale = np.stack([rows.std(axis=0), (rows**2).std(axis=0)])
    proposals = draw_proposals(3, 400, scale=1.5, rng=0)
    path = sampled_fused_path(
        first, second, proposals, [0.05], power_scale=scale, ridge=0.1, tol=1e-6
    )
    model = clone(FUSED).fit(X, y)
    np.testing.assert_allclose(model.thetas_, next(path).value, atol=1e-12)
    difference = np.linalg.norm(model.thetas_[1] - model.thetas_[0], axis=2)
    np.testing.assert_allclose(model.change_, difference)


def test_separate_is_a_density_ratio_with_an_offset():
    X, y = make_rows()
    first, second = standardised(X, y)
    rows = np.concatenate([first, second])
    scale = np.stack([rows.std(axis=0), (rows**2).std(axis=0)])
    proposals = draw_proposals(3, 400, scale=1.5, rng=0)
    model = clone(SEPARATE).fit(X, y)
    for theta, group in zip(model.thetas_, (first, second), strict=True):
        solution = density_ratio(
            group, proposals.rows, 0.1, offset=-proposals.log_density, basis="polynomial",
            power_scale=scale, tol=1e-6,
        )  # fmt: skip
        np.testing.assert_allclose(theta, solution.value, atol=1e-9)
    assert [network.n_nodes for network in model.networks_] == [3, 3]


@pytest.mark.parametrize("model", BOTH)
@pytest.mark.parametrize(
    "option", [{"degree": 3}, {"ridge": 1.0}, {"n_proposals": 300}, {"proposal_scale": 2.0}]
)
def test_every_option_matters(model, option):
    X, y = make_rows()
    plain, other = clone(model).fit(X, y), with_likelihood(model, **option).fit(X, y)
    same = plain.thetas_.shape == other.thetas_.shape
    assert not same or np.abs(plain.thetas_ - other.thetas_).max() > 1e-3


@pytest.mark.parametrize("model", BOTH)
def test_seed_draws_the_proposals_and_no_seed_is_seed_zero(model):
    X, y = make_rows()
    zero, one, none = (
        clone(model).set_params(random_state=seed).fit(X, y).thetas_ for seed in (0, 1, None)
    )
    np.testing.assert_array_equal(zero, none)
    assert np.abs(zero - one).max() > 1e-4


@pytest.mark.parametrize("model", BOTH)
def test_held_out_rows_choose_alpha_and_scores_can_be_compared(model):
    X, y = make_rows()
    search = clone(model).set_params(**{model._strength: CV(3, n_alphas=6)}).fit(X, y)
    name = model._strength
    assert getattr(search, f"{name}_") in getattr(search, f"{name}s_")
    strong, weak = (clone(model).set_params(**{name: alpha}).fit(X, y) for alpha in (10.0, 0.01))
    assert weak.score(X, y) > strong.score(X, y)
    assert strong.graph_.n_edges == 0


@pytest.mark.parametrize("model", BOTH)
def test_file_keeps_what_scoring_needs(model, tmp_path):
    X, y = make_rows()
    fitted = clone(model).fit(X, y)
    fitted.save(tmp_path / "model.edgewise")
    again = edgewise.load(tmp_path / "model.edgewise")
    assert again.score(X, y) == fitted.score(X, y)


@pytest.mark.parametrize("model", BOTH)
def test_changes_have_no_sign(model):
    X, y = make_rows()
    table = clone(model).set_params(**{model._strength: 0.02}).fit(X, y).changes()
    assert set(table["kind"]) <= {"changed", "gained", "lost", "stronger", "weaker"}


@pytest.mark.parametrize("model", BOTH)
@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"standardize": False}, "sampled_needs_standardize"),
        ({"covariance": "nonparanormal"}, "sampled_ignores_covariance"),
    ],
)
def test_bad_options(model, option, message):
    X, y = make_rows()
    with raises(InputError, code=message):
        clone(model).set_params(**option).fit(X, y)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"degree": 1}, "invalid_value"),
        ({"ridge": 0.0}, "invalid_value"),
        ({"n_proposals": 1}, "invalid_value"),
        ({"proposal_scale": 0}, "invalid_value"),
    ],
)
def test_bad_likelihoods(option, message):
    with raises(InputError, code=message):
        SampledLikelihood(**option)


def test_options_that_contradict_each_other():
    X, y = make_rows()
    with raises(InputError, code="sampled_without_ebic"):
        SeparateNetworkChange(method="sampled", standardize="pooled").fit(X, y)
    with raises(InputError, code="unknown_separate_method", method="poisson"):
        SeparateNetworkChange(method="poisson", standardize="pooled").fit(X, y)
    with raises(InputError, code="sampled_without_alpha"):
        FusedNetworkChange(method="sampled", alpha=0.1, standardize="pooled").fit(X, y)
