"""How well networks tell classes apart, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from edgewise.cli._summary import count, short_name
from edgewise.cli.classify.classifying import FISHER, GENERATIVE, LINEAR_SVM, MARGIN

if TYPE_CHECKING:
    from edgewise.cli.classify.classifying import Classified, ClassSettings

#: Changes of coefficients that are written out.
SHOWN = 5
#: What knowing nothing but the classes amounts to.
FREQUENT = "most frequent"


def class_summary(
    classified: Classified, settings: ClassSettings, source: str, data: dict[str, Any]
) -> str:
    """Tell how accurate each classifier is, whether learning together gains, and what it moved."""
    model = classified.model
    arcs = " and ".join(
        f"{short_name(str(label))} {count(graph.n_edges, 'arc')}"
        for label, graph in model.networks_.items()
    )
    rows = f"{data['n_samples']} rows and {data['n_features']} columns of {source}"
    return "\n".join(
        [
            _headline(classified, settings),
            f"{len(model.classes_)} classes in {rows}",
            "",
            *_accuracies(classified),
            "",
            verdict(classified),
            _against_svm(classified),
            "",
            f"Networks ({settings.learning}, alpha {settings.alpha:g}): {arcs}",
            *_changes(classified),
        ]
    )


def _headline(classified: Classified, settings: ClassSettings) -> str:
    """Say how often the networks find the class, learned by themselves and together."""
    accuracy = classified.accuracy
    found = f"Networks put {accuracy.accuracy(GENERATIVE):.1%} of held-out rows into their class"
    if settings.learning == GENERATIVE:
        return found
    together = accuracy.accuracy(settings.learning)
    return f"{found}, {together:.1%} when learned together ({settings.learning})"


def _accuracies(classified: Classified) -> list[str]:
    """Accuracy of each classifier with its standard error, and that of knowing nothing."""
    accuracy = classified.accuracy
    n_folds = accuracy.scores.shape[1]
    width = max(map(len, (*accuracy.names, FREQUENT)))
    lines = [
        f"  {name:<{width}}  {accuracy.accuracy(name):.3f} +- {accuracy.standard_error(name):.3f}"
        for name in accuracy.names
    ]
    return [
        f"Share of held-out rows put into their class ({n_folds} folds, standard error):",
        *lines,
        f"  {FREQUENT:<{width}}  {accuracy.chance:.3f}",
    ]


def verdict(classified: Classified) -> str:
    """Say in one sentence whether learning the networks together gains beyond noise.

    There are two ways to learn together, and the better one is looked at, which favours finding a
    gain a little.
    """
    accuracy = classified.accuracy
    best = max((FISHER, MARGIN), key=accuracy.accuracy)
    gain = accuracy.gain(best, GENERATIVE)
    points = f"{100 * gain.difference:+.1f} points, standard error {100 * gain.standard_error:.1f}"
    if not gain.is_beyond_noise:
        return f"Learning the networks together gains nothing beyond noise ({best}: {points})."
    if gain.difference < 0:
        return f"Learning the networks together loses accuracy ({best}: {points})."
    return f"Learning the networks together gains accuracy beyond noise ({best}: {points})."


def _against_svm(classified: Classified) -> str:
    """Say how the best network compares with a classifier that has none."""
    accuracy = classified.accuracy
    best = max((GENERATIVE, FISHER, MARGIN), key=accuracy.accuracy)
    gain = accuracy.gain(best, LINEAR_SVM)
    points = f"{100 * gain.difference:+.1f} points, standard error {100 * gain.standard_error:.1f}"
    if not gain.is_beyond_noise:
        return f"A linear SVM is as accurate up to noise ({best} over it: {points})."
    which = "less" if gain.difference > 0 else "more"
    return f"A linear SVM is {which} accurate ({best} over it: {points})."


def _changes(classified: Classified) -> list[str]:
    """Show the largest changes that the learning made."""
    changes = classified.changes
    if not len(changes):
        return []
    top = changes.head(SHOWN)
    names = [
        f"{short_name(a)} -> {short_name(b)} | {short_name(str(c))}"
        for a, b, c in zip(top["source"], top["target"], top["class"], strict=True)
    ]
    width = max(map(len, names))
    lines = [
        f"  {name:<{width}}  {before:+.3f} to {after:+.3f}"
        for name, before, after in zip(names, top["before"], top["after"], strict=True)
    ]
    worst = max(classified.model.fit_error_ratio_.values()) - 1
    return [
        f"Largest of {count(len(changes), 'changed coefficient')}, standardised columns:",
        *lines,
        f"Fit of each network to its own class: at most {worst:.1%} worse",
    ]
