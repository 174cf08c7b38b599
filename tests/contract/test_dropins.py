"""What the guide says of other packages, where they are installed."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, KFold

from edgewise import GaussianGraph
from tests.contract.test_docs import ROOT, blocks_of

PAGE = ROOT / "docs" / "coming-from.md"
# Other packages call what is deprecated in those that they build on.
pytestmark = pytest.mark.filterwarnings("ignore")


def run_block(package):
    """Run the blocks that need nothing, then the one that imports the package."""
    pytest.importorskip(package)
    namespace = {"__name__": "docs"}
    for block in blocks_of(PAGE):
        if block.language == "python" or f"from {package}" in block.text:
            exec(block.text, namespace)
    return namespace


def test_nilearn_takes_the_estimator_as_it_is():
    found = run_block("nilearn")
    for rows, connectome in zip(found["subjects"], found["connectomes"], strict=True):
        ours = GaussianGraph(alpha=0.1).fit(rows).partial_correlation_
        np.testing.assert_allclose(connectome, ours, atol=1e-12)


@pytest.mark.parametrize(
    ("kind", "attribute"),
    [("covariance", "covariance_"), ("precision", "precision_"), ("tangent", None)],
)
def test_nilearn_has_every_kind_of_connectome(kind, attribute):
    found = run_block("nilearn")
    measure = found["ConnectivityMeasure"](
        cov_estimator=GaussianGraph(alpha=0.1), kind=kind, standardize=False
    )
    connectomes = measure.fit_transform(found["subjects"])
    if attribute is None:
        # Deviations from the geometric mean of the subjects.
        np.testing.assert_allclose(connectomes.sum(axis=0), 0, atol=1e-6)
        assert np.abs(connectomes).max() > 0.1
        return
    for rows, connectome in zip(found["subjects"], connectomes, strict=True):
        ours = getattr(GaussianGraph(alpha=0.1).fit(rows), attribute)
        np.testing.assert_allclose(connectome, ours, rtol=1e-9, atol=1e-12)


def test_skfolio_searches_for_alpha_through_the_portfolio():
    found = run_block("skfolio")
    path = "prior_estimator__covariance_estimator__alpha"
    search = GridSearchCV(found["portfolio"], {path: [0.01, 0.9]}, cv=KFold(3))
    best = search.fit(found["returns"]).best_estimator_
    assert set(search.cv_results_[f"param_{path}"]) == {0.01, 0.9}
    model = best.prior_estimator_.covariance_estimator_
    ours = GaussianGraph(alpha=model.alpha, covariance="correlation").fit(found["returns"])
    np.testing.assert_allclose(model.covariance_, ours.covariance_, rtol=1e-12)


def test_skfolio_takes_the_covariance():
    found = run_block("skfolio")
    learner = GaussianGraph(alpha="ebic", covariance="correlation").fit(found["returns"])
    weights = learner.precision_.sum(axis=0)
    # The portfolio of least variance has a closed form; the solver stops at a tolerance.
    assert (weights > 0).all()
    np.testing.assert_allclose(found["portfolio"].weights_, weights / weights.sum(), atol=5e-3)
