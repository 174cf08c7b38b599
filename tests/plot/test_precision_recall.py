"""Curves of precision against recall, single and averaged over runs."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from edgewise import InputError
from edgewise.metrics import PrecisionRecallCurve, precision_recall_curve
from edgewise.plot import plot_precision_recall
from tests.messages import raises

TRUE = np.array([[0, 1, 1], [1, 0, 0], [1, 0, 0]])
#: Precision 1 up to recall 0.5, and 2 / 3 up to recall 1.
TUPLE = (np.array([0.5, 0.5, 1.0]), np.array([1.0, 0.5, 2 / 3]))


def perfect():
    return precision_recall_curve(TRUE, TRUE)


def random_curve(seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(12, 12))
    return precision_recall_curve(rng.uniform(size=(12, 12)) < 0.3, np.round(scores, 1))


def texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def area(line):
    x, y = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
    assert line.get_drawstyle() == "steps-pre"
    return np.sum(np.diff(x) * y[1:])


def test_area_under_the_drawn_steps_is_the_auc():
    curve = random_curve(0)
    (line,) = plot_precision_recall(curve).lines
    assert area(line) == pytest.approx(curve.auc)


def test_a_tuple_of_recall_and_precision_is_a_curve():
    ax = plot_precision_recall({"ours": TUPLE})
    (line,) = ax.lines
    assert line.get_xdata().tolist() == [0.0, 0.5, 1.0]
    assert line.get_ydata().tolist() == [1.0, 1.0, 2 / 3]
    assert texts(ax) == ["ours (area 0.83)"]
    (alone,) = plot_precision_recall(TUPLE).lines
    assert alone.get_ydata().tolist() == line.get_ydata().tolist()


def test_curves_are_named_with_their_area():
    ax = plot_precision_recall({"$a$": perfect(), "_b": perfect()})
    assert texts(ax) == ["$a$ (area 1.00)", "_b (area 1.00)"]
    assert not any(text.get_parse_math() for text in ax.get_legend().get_texts())
    assert len({line.get_color() for line in ax.lines}) == 2
    assert plot_precision_recall(perfect()).get_legend() is None
    ax.figure.draw_without_rendering()


def test_many_curves_stay_apart():
    ax = plot_precision_recall({str(i): perfect() for i in range(20)})
    styles = {(line.get_color(), line.get_linestyle()) for line in ax.lines}
    assert len(styles) == 20


@pytest.mark.parametrize("n_curves", [3, 9])
def test_long_legends_stand_beside_the_curves(n_curves):
    curves = {
        f"method {i} of several": [random_curve(i), random_curve(99)] for i in range(n_curves)
    }
    ax = plot_precision_recall(curves, chance=0.3)
    ax.figure.draw_without_rendering()
    box, page = ax.get_legend().get_window_extent(), ax.figure.bbox
    assert box.x0 >= ax.get_window_extent().x1
    assert box.x1 <= page.x1
    # Axes of the user are not left: there may be nothing but other axes beside them.
    ax = plot_precision_recall(curves, Figure().add_subplot())
    ax.figure.draw_without_rendering()
    assert ax.get_legend().get_window_extent().x0 < ax.get_window_extent().x1


def test_mean_of_runs():
    runs = [TUPLE, (np.array([0.25, 0.5]), np.array([1.0, 0.5]))]
    ax = plot_precision_recall({"ours": runs})
    (line,) = ax.lines
    assert line.get_xdata().tolist() == [0.0, 0.25, 0.5, 1.0]
    np.testing.assert_allclose(line.get_ydata()[1:], [1.0, 0.75, 1 / 3])
    areas = np.array([0.5 + 0.5 * 2 / 3, 0.25 + 0.25 * 0.5])
    assert area(line) == pytest.approx(areas.mean())
    assert texts(ax) == [f"ours (area {areas.mean():.2f} ± {np.std(areas, ddof=1) / 2**0.5:.2f})"]
    # Half the difference is the standard error of two values.
    (band,) = ax.collections
    outline = band.get_paths()[0].vertices
    inside = outline[(outline[:, 0] > 0.5)]
    np.testing.assert_allclose([inside[:, 1].min(), inside[:, 1].max()], [0.0, 2 / 3])
    assert tuple(band.get_facecolor()[0][:3]) == to_rgb(line.get_color())


def test_area_of_runs_is_the_mean_of_their_areas():
    curves = [random_curve(seed) for seed in range(8)]
    ax = plot_precision_recall({"ours": curves})
    areas = [curve.auc for curve in curves]
    assert area(ax.lines[0]) == pytest.approx(np.mean(areas))
    error = np.std(areas, ddof=1) / np.sqrt(8)
    assert texts(ax) == [f"ours (area {np.mean(areas):.2f} ± {error:.2f})"]


def test_a_single_run_has_no_band():
    ax = plot_precision_recall({"ours": [TUPLE]})
    assert not ax.collections
    assert texts(ax) == ["ours (area 0.83)"]


def test_chance_is_a_line():
    ax = plot_precision_recall({"ours": TUPLE}, chance=0.125)
    assert texts(ax) == ["ours (area 0.83)", "chance (0.12)"]
    assert list(ax.lines[1].get_ydata()) == [0.125, 0.125]
    assert texts(plot_precision_recall(TUPLE, chance=0.125)) == ["chance (0.12)"]
    for bad in (-0.1, 1.5, np.nan):
        with raises(InputError, code="chance_range"):
            plot_precision_recall(TUPLE, chance=bad)


def test_curve_that_finds_nothing():
    nothing = PrecisionRecallCurve(
        precision=np.array([0.0]), recall=np.array([0.0]), thresholds=np.array([1.0]), auc=0.0
    )
    ax = plot_precision_recall({"none": nothing, "runs": [nothing, perfect()]})
    ax.figure.draw_without_rendering()
    assert ax.get_ylim()[0] <= 0.0
    assert texts(ax) == ["none (area 0.00)", "runs (area 0.50 ± 0.50)"]


def test_given_axes_are_used():
    ax = Figure().add_subplot()
    ax.plot([0, 1], [0, 1])
    assert plot_precision_recall({"ours": perfect()}, ax) is ax
    assert ax.get_legend().legend_handles[0].get_color() == ax.lines[1].get_color()


@pytest.mark.parametrize(
    ("curve", "message"),
    [
        ([TUPLE[0], TUPLE[1]], "curve_type"),
        ((perfect(), perfect(), perfect()), "curve_type"),
        ([], "run_without_curves"),
        ((TUPLE[0], TUPLE[1][:2]), "curve_shapes"),
        ((TUPLE[0], 2 * TUPLE[1]), "curve_shapes"),
        ((TUPLE[0], np.full(3, np.nan)), "curve_shapes"),
        (0.5, "curve_type"),
    ],
)
def test_what_is_no_curve_is_named(curve, message):
    with raises(InputError, code=message):
        plot_precision_recall({"ours": curve})
