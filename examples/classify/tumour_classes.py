"""
Do the networks of tumours tell benign from malignant?
======================================================

A network of each kind, from scikit-learn's breast cancer table: each by itself and both together,
beside a linear support vector machine.
"""

# %%
# Fifteen measures of some tumours
# --------------------------------
# In logarithms; some tumours have no concave nucleus at all, so a thousandth is added.
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from edgewise import BayesNetClassifier
from edgewise.inference import class_accuracy
from edgewise.plot import save_figure
from edgewise.plot.classify import plot_arc_changes, plot_class_networks

MEASURES = ("radius", "texture", "smoothness", "concavity", "symmetry")

table = load_breast_cancer(as_frame=True)
columns = [name for name in table.data.columns if any(word in name for word in MEASURES)]
renamed = {name: " ".join(sorted(name.split(), key=MEASURES.__contains__)) for name in columns}
chosen = np.random.default_rng(0).permutation(len(table.data))[:120]
rows = np.log(table.data[columns] + 1e-3).rename(columns=renamed)
rows = rows.iloc[chosen].reset_index(drop=True)
kinds = table.target_names[table.target][chosen]

# %%
# Accuracy held out
# -----------------
# What learning both networks together gains depends on how strong each learner is by itself: with
# penalised intercepts, as in the literature, much; with free ones, next to nothing beyond noise.
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

# %%
# The networks, and how they differ
# ---------------------------------
model = BayesNetClassifier(alpha=0.4).fit(rows, kinds)
worst = max(model.fit_error_ratio_.values()) - 1
print(f"own fit of the networks at most {worst:.1%} worse")

groups = [name.split()[-1] for name in rows.columns]
figure = plot_class_networks(model.networks_, difference=model.graph_, groups=groups)
save_figure(figure, "tumour_classes.png")
figure

# %%
# What decides
# ------------
# For one tumour, and over all of them what learning together changed.
first = model.explain(rows.iloc[:1]).iloc[0]
print(f"first tumour: {model.predict(rows.iloc[:1])[0]}, most for or against it from the")
print(f"{first['class']} network, {first['source']} -> {first['target']}")

changes = plot_arc_changes(model.explain()).figure
save_figure(changes, "tumour_changes.png")
changes
