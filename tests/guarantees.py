"""What holds after every fit, whoever makes it: numbers, definite matrices, no cycles, gaps."""

import functools
from contextlib import contextmanager

import numpy as np

import edgewise

#: What a fit sets that must be made of numbers.
FINITE = (
    "change_", "coef_", "coefs_", "covariance_", "criterion_value_", "intercept_",
    "location_", "locations_", "noise_variance_", "objective_", "precision_",
    "precision_difference_", "precisions_", "risk_", "scale_", "standard_coef_", "theta_",
)  # fmt: skip
#: Precision matrices of more variables are not factored: the check must cost next to nothing.
LARGEST_FACTORED = 300
#: Rounding, as a share of what is rounded.
ROUNDING = 1e-9
DIRECTED = ("BayesNetClassifier", "BlanketBayesNet", "GaussianBayesNet")


def check_fit(model):
    """Fail where a fitted estimator breaks a promise."""
    name, fitted = type(model).__name__, vars(model)
    for key in FINITE:
        value = fitted.get(key)
        if value is not None:
            assert np.isfinite(value).all(), f"{name}.{key} is not finite: {value}"
    for key in ("precision_", "precisions_"):
        if fitted.get(key) is not None:
            for Theta in np.reshape(fitted[key], (-1, *np.shape(fitted[key])[-2:])):
                check_definite(Theta, f"{name}.{key}")
    for node in fitted.get("nodes_", ()):
        check_definite(node.precision, f"the leaf {node.leaf} of {name}")
    if name in DIRECTED and fitted.get("coef_") is not None:
        for coef in np.reshape(fitted["coef_"], (-1, *np.shape(fitted["coef_"])[-2:])):
            assert is_acyclic(coef != 0), f"{name}.coef_ has a cycle: {coef}"
    gap = fitted.get("gap_")
    if gap is not None:
        scale = max(1.0, abs(fitted.get("objective_") or 0.0))
        # Before the first feasible point of the dual nothing is known, and the gap is infinite.
        assert gap < np.inf or not fitted["converged_"], f"{name}.gap_ is {gap}"
        assert gap >= -ROUNDING * scale, f"{name}.gap_ is {gap}, below 0"


def check_definite(Theta, label):
    """Fail where a precision matrix is not symmetric and positive definite."""
    diagonal = np.diagonal(Theta)
    assert (diagonal > 0).all(), f"{label} has {diagonal.min()} on its diagonal"
    # One root after the other: the product of two could be beyond floats.
    root = np.sqrt(diagonal)
    scaled = Theta / root / root[:, None]
    asymmetry = np.max(np.abs(scaled - scaled.T))
    assert asymmetry <= ROUNDING, f"{label} is not symmetric, by {asymmetry}"
    if len(Theta) <= LARGEST_FACTORED:
        try:
            np.linalg.cholesky(scaled)
        except np.linalg.LinAlgError:
            least = np.linalg.eigvalsh(scaled)[0]
            raise AssertionError(f"{label} has the eigenvalue {least}") from None


def is_acyclic(arcs):
    """Whether taking away variables without parents, again and again, leaves none."""
    arcs = np.array(arcs)
    left = np.ones(len(arcs), dtype=bool)
    while left.any():
        roots = left & ~arcs[left].any(axis=0)
        if not roots.any():
            return False
        left &= ~roots
    return True


def estimators():
    """Every public class that has a fit."""
    found = [getattr(edgewise, name) for name in edgewise.__all__]
    return [item for item in found if isinstance(item, type) and hasattr(item, "fit")]


def _checked(fit):
    @functools.wraps(fit)
    def fit_and_check(self, *args, **kwargs):
        model = fit(self, *args, **kwargs)
        check_fit(model)
        return model

    # Warnings name the line that called fit. They count frames, but for those of the import
    # system, so this one must not look like more than that.
    code = fit_and_check.__code__
    fit_and_check.__code__ = code.replace(co_filename="importlib._bootstrap")
    return fit_and_check


@contextmanager
def checked_fits():
    """Check every fit that is made inside the block, by anyone in this process."""
    owners = {
        next(owner for owner in kind.__mro__ if "fit" in vars(owner)) for kind in estimators()
    }
    plain = {owner: owner.fit for owner in owners}
    for owner, fit in plain.items():
        owner.fit = _checked(fit)
    try:
        yield
    finally:
        for owner, fit in plain.items():
            owner.fit = fit
