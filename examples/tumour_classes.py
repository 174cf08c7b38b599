"""Tumours: whether the networks of benign and malignant ones tell them apart.

Learns a network of each class from scikit-learn's breast cancer table, each by itself and both
together, with free and with penalised intercepts; compares their accuracy with that of a linear
support vector machine; and draws the networks, what learning changed, and what decides about one
tumour.
Usage: ``python examples/tumour_classes.py [FOLDER]``
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from edgewise import BayesNetClassifier
from edgewise.inference import class_accuracy
from edgewise.plot import plot_arc_changes, plot_class_networks, save_figure

N_ROWS = 120


def main(folder: Path) -> None:
    rows, kinds = tumours()
    models = {
        f"{learning}, {bias} bias": BayesNetClassifier(learning, alpha=0.4, bias=bias)
        for bias in ("free", "penalized")
        for learning in ("generative", "margin")
    }
    models["linear SVM"] = make_pipeline(StandardScaler(), SVC(kernel="linear"))
    accuracy = class_accuracy(models, rows, kinds, n_repeats=1, random_state=0)
    print(f"{len(rows)} tumours; most frequent kind {accuracy.chance:.2f}; accuracy held out:")
    for name in accuracy.names:
        print(f"{name:<26} {accuracy.accuracy(name):.2f} {accuracy.standard_error(name):.2f}")
    for bias in ("free", "penalized"):
        gain = accuracy.gain(f"margin, {bias} bias", f"generative, {bias} bias")
        word = "beyond" if gain.is_beyond_noise else "within"
        print(f"{bias} bias: learning together gains {gain.difference:+.2f}, {word} noise")

    model = BayesNetClassifier(alpha=0.4).fit(rows, kinds)
    worst = max(model.fit_error_ratio_.values()) - 1
    print(f"own fit of the networks at most {worst:.1%} worse")
    decided = model.explain(rows.iloc[:1])
    first = decided.iloc[0]
    print(f"first tumour: {model.predict(rows.iloc[:1])[0]}, most for or against it from the")
    print(f"{first['class']} network, {first['source']} -> {first['target']}")
    groups = [name.split()[-1] for name in rows.columns]
    figure = plot_class_networks(model.networks_, difference=model.graph_, groups=groups)
    save_figure(figure, folder / "tumour_classes.png")
    save_figure(plot_arc_changes(model.explain()).figure, folder / "tumour_changes.png")


def tumours() -> tuple[pd.DataFrame, np.ndarray]:
    """Fifteen measures of some tumours, in logarithms, and what kind each is."""
    table = load_breast_cancer(as_frame=True)
    kinds = table.target_names[table.target]
    measures = ("radius", "texture", "smoothness", "concavity", "symmetry")
    columns = [name for name in table.data.columns if any(word in name for word in measures)]
    # Some tumours have no concave nucleus at all.
    rows = np.log(table.data[columns] + 1e-3)
    renamed = {name: " ".join(sorted(name.split(), key=measures.__contains__)) for name in columns}
    chosen = np.random.default_rng(0).permutation(len(rows))[:N_ROWS]
    return rows.rename(columns=renamed).iloc[chosen].reset_index(drop=True), kinds[chosen]


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path())
