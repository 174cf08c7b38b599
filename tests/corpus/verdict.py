"""Whether a run has ended as it must: a sound result, or one clear sentence."""

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning

from edgewise import DataWarning, EdgewiseError
from edgewise.selection import SelectionWarning
from tests.corpus.case import Outcome
from tests.corpus.subjects import Subject
from tests.guarantees import assert_definite, assert_guarantees

#: Warnings that speak of the data; any other comes from the inside.
ALLOWED = (DataWarning, ConvergenceWarning, SelectionWarning, DataConversionWarning)
#: Words by which a sentence says what to do, or what is lacking.
ADVICE = re.compile(
    r"""\b(
    Add | Allow | Centre | Change | Check | Code | Convert | Cut | Declare | Discretise
    | Do\ not\ use | Drop | Fill | Fit | Give | Impute | Label | Look | Merge | Name | Omit
    | Pass | Raise | Remove | Rename | Replace | Rescale | Reshape | Save | Scale | Set | Split
    | Subtract | Take | Turn | Unpack | Use | Write
    | Did\ you\ mean | give\ one | is\ required | learns\ from | must\ be | need | needed | needs
    | nothing\ to\ learn | require | requires | takes
    )\b""",
    re.VERBOSE,
)
#: A parameter or a file, which may begin a sentence with a small letter.
SUBJECT = re.compile(r"\S+ (cannot|has|holds|is|must|may|names|needs|requires|takes|tests)\b")
LONGEST_SENTENCE = 600
MOST_LINES = 12


def complaint(subject: Subject, table: Any, outcome: Outcome, clean: Any) -> str | None:
    """Say what is wrong with the way a fit ends, if anything is."""
    try:
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            model = subject.fit(table)
            found = signature(model, subject, table)
    except EdgewiseError as error:
        if outcome.kind not in ("refused", "sound"):
            return f"refused: {error}"
        return about_warnings(heard) or about_sentence(str(error), subject.words(outcome.says))
    except Exception as error:  # Whatever comes from the inside is what the corpus looks for.
        return f"{type(error).__name__} from the inside: {error}"
    if outcome.kind == "refused":
        return "not refused"
    return (
        about_warnings(heard)
        or about_result(model, found)
        or about_names(model, subject, table)
        or _about_difference(outcome, found, clean)
    )


def signature(model: Any, subject: Subject, table: Any) -> dict[str, np.ndarray]:
    """Arrays that tell one result from another."""
    found = {"graph": np.asarray(model.graph_.weights)}
    for name in ("precision_", "coef_", "change_", "intercept_", "support_", "frequency_"):
        if isinstance(value := getattr(model, name, None), np.ndarray):
            found[name] = value
    if hasattr(model, "predict_precision"):
        found["predicted precision"] = model.predict_precision(subject.covariates(table))
    if hasattr(model, "predict_proba"):
        found["probabilities"] = model.predict_proba(subject.rows(table))
    elif callable(getattr(model, "score", None)) and subject.family in ("rows", "levels"):
        if getattr(model, "missing", None) == "drop":
            # There are no rows to leave out of those that are judged.
            table = np.asarray(subject.clean(), dtype=np.float64)
        found["score"] = np.array(model.score(table))
    return found


def about_sentence(text: str, says: tuple[str, ...] = ()) -> str | None:
    """What is wrong with a sentence that refuses an input."""
    if lacking := [word for word in says if word not in text]:
        return f"does not say {lacking}: {text}"
    is_sentence = text[:1].isupper() or text[:1].isdigit() or SUBJECT.match(text)
    if not is_sentence or not text.endswith(".") or len(text) > LONGEST_SENTENCE:
        return f"is no sentence: {text}"
    if text.count("\n") >= MOST_LINES or "Traceback" in text or re.search(r"\barray\(", text):
        return f"is a dump: {text}"
    return None if ADVICE.search(text) else f"says nothing to do: {text}"


def about_warnings(heard: list[warnings.WarningMessage]) -> str | None:
    """A warning that is not about the data."""
    for warning in heard:
        # scikit-learn's notice of a model that was fitted to columns without names.
        is_notice = "fitted without feature names" in str(warning.message)
        if not issubclass(warning.category, ALLOWED) and not is_notice:
            return f"{warning.category.__name__} at {warning.filename}: {warning.message}"
    return None


def about_result(model: Any, found: dict[str, np.ndarray]) -> str | None:
    """What is not as it must be in a fitted estimator."""
    fitted = {name: value for name, value in vars(model).items() if name.endswith("_")}
    # Beside objectives it lists strengths of an order, infinite where the order is fixed.
    fitted.pop("history_", None)
    for name, value in {**fitted, **found}.items():
        is_floats = isinstance(value, np.ndarray) and value.dtype.kind == "f"
        if is_floats and not np.isfinite(value).all():
            return f"{name} is not finite"
    try:
        assert_guarantees(model)
        for precision in found.get("predicted precision", ()):
            assert_definite(precision, "predicted precision")
    except AssertionError as error:
        return str(error)
    graph = model.graph_
    is_lopsided = not graph.directed and (graph.weights != graph.weights.T).any()
    return "the graph is not symmetric" if is_lopsided else None


def about_names(model: Any, subject: Subject, table: Any) -> str | None:
    """Names of columns that got lost on the way."""
    table = subject.rows(table)
    names = list(getattr(table, "column_names", getattr(table, "columns", ())))
    if not names or not isinstance(names[0], str) or subject.family == "covariates":
        return None
    return (
        None
        if list(model.graph_.names) == list(map(str, names))
        else f"the nodes are {model.graph_.names}"
    )


def _about_difference(outcome: Outcome, found: Any, clean: Any) -> str | None:
    if outcome.kind == "same":
        for name, value in clean.items():
            if found[name].shape != value.shape:
                return f"{name} has shape {found[name].shape}"
            if not np.allclose(found[name], value, rtol=1e-8, atol=1e-8):
                return f"{name} differs by {np.abs(found[name] - value).max():.2g}"
    if outcome.kind == "alike" and not np.allclose(found["graph"], clean["graph"], atol=1e-6):
        return f"the graph differs by {np.abs(found['graph'] - clean['graph']).max():.2g}"
    return None


def quietly(call: Callable[[], Any]) -> Any:
    """Do something whose warnings have been judged elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call()
