"""What the guide says of other packages, where they are installed."""

import numpy as np
import pytest

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


def test_skfolio_takes_the_covariance():
    found = run_block("skfolio")
    learner = GaussianGraph(alpha="ebic", covariance="correlation").fit(found["returns"])
    weights = learner.precision_.sum(axis=0)
    # The portfolio of least variance has a closed form; the solver stops at a tolerance.
    assert (weights > 0).all()
    np.testing.assert_allclose(found["portfolio"].weights_, weights / weights.sum(), atol=5e-3)
