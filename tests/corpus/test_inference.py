"""Tables and labels of the corpus, handed to the functions that compare groups or classifiers."""

import warnings

import pytest

from edgewise import BayesNetClassifier, EdgewiseError, GaussianGraph, permutation_test
from edgewise.inference import class_accuracy, compare_networks
from tests.corpus.faults import FAULTS
from tests.corpus.label_cases import LABELS
from tests.corpus.not_tables import NOT_TABLES
from tests.corpus.other_types import OTHER_TYPES
from tests.corpus.subjects import labels, measurements
from tests.corpus.verdict import about_sentence, about_warnings

CLASSIFIERS = {"generative": BayesNetClassifier("generative")}
FUNCTIONS = {
    "permutation_test": lambda X, y: permutation_test(
        GaussianGraph(alpha=0.1), X, y, n_permutations=2, center=True, random_state=0
    ),
    "class_accuracy": lambda X, y: class_accuracy(
        CLASSIFIERS, X, y, n_folds=2, n_repeats=1, random_state=0
    ),
    "compare_networks": lambda X, y: compare_networks(X, y, n_permutations=2, random_state=0),
}


def tell(case):
    return case.name


def verdicts(X, y):
    found = []
    for name, function in FUNCTIONS.items():
        said = None
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            try:
                function(X, y)
            except EdgewiseError as error:
                said = about_sentence(str(error))
            except Exception as error:  # Whatever comes from the inside is looked for.
                said = f"{type(error).__name__} from the inside: {error}"
        if said := said or about_warnings(heard):
            found.append(f"{name}: {said}")
    return "\n".join(found)


@pytest.mark.parametrize("case", [*FAULTS, *OTHER_TYPES, *NOT_TABLES], ids=tell)
def test_tables(case):
    X = case.build(measurements())
    assert not verdicts(X, labels(X))


@pytest.mark.parametrize("case", LABELS, ids=tell)
def test_labels(case):
    assert not verdicts(*case.build(measurements(), labels(measurements())))
