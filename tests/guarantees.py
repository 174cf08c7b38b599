"""What holds after every fit: numbers, definite matrices, no cycles, gaps."""

import numpy as np

#: What a fit sets that must be made of numbers.
FINITE = (
    "change_", "coef_", "coefs_", "covariance_", "criterion_value_", "intercept_",
    "location_", "locations_", "noise_variance_", "objective_", "precision_",
    "precision_difference_", "precisions_", "risk_", "scale_", "standard_coef_", "theta_",
)  # fmt: skip
#: Rounding, as a share of what is rounded.
ROUNDING = 1e-9
DIRECTED = ("BayesNetClassifier", "BlanketBayesNet", "DirectedGraph", "GaussianBayesNet")


def assert_guarantees(model):
    """Fail where a fitted estimator breaks a promise."""
    name, fitted = type(model).__name__, vars(model)
    for key in FINITE:
        value = fitted.get(key)
        if value is not None:
            assert np.isfinite(value).all(), f"{name}.{key} is not finite: {value}"
    for key in ("precision_", "precisions_"):
        if fitted.get(key) is not None:
            for Theta in np.reshape(fitted[key], (-1, *np.shape(fitted[key])[-2:])):
                assert_definite(Theta, f"{name}.{key}")
    for node in fitted.get("nodes_", ()):
        assert_definite(node.precision, f"the leaf {node.leaf} of {name}")
    if name in DIRECTED and fitted.get("coef_") is not None:
        for coef in np.reshape(fitted["coef_"], (-1, *np.shape(fitted["coef_"])[-2:])):
            assert is_acyclic(coef != 0), f"{name}.coef_ has a cycle: {coef}"
    gap = fitted.get("gap_")
    if gap is not None:
        # Before the first feasible point of the dual nothing is known, and the gap is infinite.
        assert gap < np.inf or not fitted["converged_"], f"{name}.gap_ is {gap}"
        assert gap >= 0.0, f"{name}.gap_ is {gap}, below 0"


def assert_definite(Theta, label):
    """Fail where a precision matrix is not symmetric and positive definite."""
    diagonal = np.diagonal(Theta)
    assert (diagonal > 0).all(), f"{label} has {diagonal.min()} on its diagonal"
    # One root after the other: the product of two could be beyond floats.
    root = np.sqrt(diagonal)
    scaled = Theta / root / root[:, None]
    asymmetry = np.max(np.abs(scaled - scaled.T))
    assert asymmetry <= ROUNDING, f"{label} is not symmetric, by {asymmetry}"
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
