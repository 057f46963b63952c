"""Figures show the numbers of the fitted object."""

import builtins

import matplotlib as mpl
import numpy as np
import pytest
from report.records_at_hand import complete, full

from counterpoise import KLIEP, DiscrepancyWeights, diagnose
from counterpoise.datasets import make_sinc_shift
from counterpoise.figures.canvas import BLUE, ORANGE
from counterpoise.figures.draw import (
    draw_calibration,
    draw_column,
    draw_slices,
    draw_widths,
)
from counterpoise.networks import ConvexNetworkClassifier
from counterpoise.plot import (
    plot_balance,
    plot_convergence,
    plot_overlap,
    plot_performance,
    plot_selection,
    plot_spectrum,
    plot_trade_off,
    plot_weights,
)
from counterpoise.report import Report, render
from counterpoise.report.drawings import calibration_drawing

mpl.use("agg")


@pytest.fixture(scope="module")
def kliep():
    shift = make_sinc_shift(random_state=0)
    return KLIEP(random_state=0).fit(shift.X, X_target=shift.X_target)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    mpl.pyplot.close("all")


def test_the_weights_are_drawn_largest_first(kliep):
    ax = plot_weights(kliep)
    drawn = ax.lines[0].get_ydata()
    np.testing.assert_allclose(drawn, np.sort(kliep.weights_)[::-1])
    assert f"{kliep.effective_sample_size_:.0f} effective rows of 500" in ax.get_title()


def test_the_gap_is_drawn_against_time_or_steps(kliep):
    ax = plot_convergence(kliep)
    seconds = [line.seconds for line in kliep.solution_.history]
    np.testing.assert_allclose(ax.lines[0].get_xdata(), seconds)
    steps = plot_convergence(kliep, kliep.solution_, by="steps")
    assert steps.get_xlabel() == "step"
    assert len(steps.get_legend().get_texts()) == 2
    with pytest.raises(ValueError, match="by must be 'seconds' or 'steps'"):
        plot_convergence(kliep, by="hours")


def test_both_scores_of_a_selection_are_drawn(kliep):
    ax = plot_selection(kliep)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "one-sided",
        "two-sided",
    ]
    chosen = kliep.cv_results_["width"][kliep.cv_results_["chosen"]][0]
    assert any(np.allclose(line.get_xdata(), chosen) for line in ax.lines)


def test_an_object_without_a_selection_or_history_is_refused():
    shift = make_sinc_shift(random_state=0)
    fixed = KLIEP(gamma=1.0).fit(shift.X, X_target=shift.X_target)
    with pytest.raises(ValueError, match="KLIEP has selected nothing"):
        plot_selection(fixed)


def test_a_missing_matplotlib_names_the_extra(kliep, monkeypatch):
    genuine = builtins.__import__

    def without(name, *arguments, **options):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return genuine(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"counterpoise\[report\]"):
        plot_weights(kliep)


PLOTS = (
    plot_balance,
    plot_convergence,
    plot_overlap,
    plot_performance,
    plot_selection,
    plot_spectrum,
    plot_weights,
)


@pytest.mark.parametrize("plot", PLOTS, ids=lambda plot: plot.__name__)
def test_a_record_is_drawn_where_one_wants_it(plot):
    _, ax = mpl.pyplot.subplots()
    assert plot(Report.from_dict(full()), ax=ax) is ax
    assert ax.has_data()


@pytest.mark.parametrize("plot", [plot_balance, plot_overlap, plot_weights])
def test_a_fitted_object_is_drawn_like_its_record(plot, kliep):
    drawn = [plot(one) for one in (kliep, Report.from_estimator(kliep))]
    extents = [ax.dataLim.get_points() for ax in drawn]
    np.testing.assert_allclose(*extents, atol=2e-3)


@pytest.mark.parametrize("plot", PLOTS, ids=lambda plot: plot.__name__)
def test_a_record_without_the_section_is_refused(plot):
    with pytest.raises(ValueError, match=r"no section|no history|selected nothing"):
        plot(Report.from_dict({}))


@pytest.mark.parametrize("kind", ["sorted", "histogram", "lorenz", "clipping"])
def test_the_weights_are_drawn_in_every_kind(kliep, kind):
    ax = plot_weights(kliep, kind=kind)
    assert ax.has_data()
    with pytest.raises(ValueError, match="kind must be one of"):
        plot_weights(kliep, kind="pie")


def test_the_columns_of_the_love_plot_are_the_worst_first():
    ax = plot_balance(Report.from_dict(full()), most=5)
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names == [one["name"] for one in full()["balance"]["features"][:5]]


def test_a_column_named_in_mathematics_is_drawn_as_it_is():
    found = full()
    found["balance"]["features"][0]["name"] = "$\\frac{"
    ax = plot_balance(Report.from_dict(found))
    ax.figure.canvas.draw()
    assert ax.get_yticklabels()[0].get_text() == "$\\frac{"


def test_one_metric_of_several_can_be_drawn():
    record = Report.from_dict(full())
    assert "accuracy" in plot_performance(record, metric="accuracy").get_xlabel()
    with pytest.raises(ValueError, match="metric must be one of neg_log_loss"):
        plot_performance(record, metric="f1")


def test_the_spectrum_is_drawn_before_and_after_weighting():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(80, 3)), rng.normal(size=(60, 3)) * [1, 1, 5]
    weight_estimator = DiscrepancyWeights().fit(X, X_target=T)
    ax = plot_spectrum(weight_estimator)
    drawn = {line.get_label(): line.get_ydata() for line in ax.lines}
    for told, spectrum in (
        ("before weighting", weight_estimator.spectrum_uniform_),
        ("after weighting", weight_estimator.spectrum_),
    ):
        np.testing.assert_allclose(drawn[told], spectrum.eigenvalues, atol=1e-12)
    section = Report.from_estimator(weight_estimator)["shift"]["spectrum"]
    assert section["least"] == weight_estimator.discrepancy_
    assert section["direction"][0]["name"] == "x2"
    found = diagnose(X, T, n_permutations=0, random_state=0)
    ax = plot_spectrum(found)
    np.testing.assert_allclose(
        ax.lines[2].get_ydata(), sorted(found.reweighting.spectrum_after)[::-1]
    )


def test_the_page_tells_what_weighting_removes():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(80, 3)), rng.normal(size=(60, 3)) * [1, 1, 5]
    weight_estimator = DiscrepancyWeights().fit(X, X_target=T)
    html = render(Report.from_estimator(weight_estimator)).html
    assert "In which directions do the data spread differently?" in html
    assert "What is left lies mostly along" in html
    rows = Report.from_estimator(DiscrepancyWeights(kernel="rbf").fit(X, X_target=T))
    # Rows of a kernel are no aggregates.
    assert rows["shift"]["spectrum"]["direction"] == []
    assert "What is left" not in render(rows).html


def test_a_record_without_the_newer_numbers_is_told_all_the_same():
    found = full()
    spectrum = found["shift"]["spectrum"]
    assert "removable" not in spectrum
    html = render(found).html
    assert "The largest difference is" in html
    spectrum |= {"removable": 0.5, "direction": [{"name": "<b>", "share": 0.9}]}
    spectrum |= {"discrepancy": 6.8, "least": 3.4, "target_varies_more": False}
    html = render(found).html
    assert "&lt;b&gt;" in html
    assert "<b>" not in html.replace("<body", "")


def test_calibration_is_drawn_from_its_bins_with_intervals():
    section = full()["performance"]["calibration"]
    _, ax = mpl.pyplot.subplots()
    draw_calibration(ax, section)
    dashed, line = ax.lines
    np.testing.assert_array_equal(dashed.get_xydata(), [[0, 0], [1, 1]])
    expected = [[one["predicted"], one["observed"]] for one in section["bins"]]
    np.testing.assert_allclose(line.get_xydata(), expected)
    drawn = [one.get_segments()[0] for one in ax.collections]
    intervals = [[one["low"], one["high"]] for one in section["bins"]]
    np.testing.assert_allclose([one[:, 1] for one in drawn], intervals)
    # Points at both ends are inside the picture.
    assert ax.get_xlim()[0] < 0 < 1 < ax.get_xlim()[1]


def test_the_caption_of_calibration_has_its_error_and_the_table_its_bins():
    found = full()
    drawing = calibration_drawing(Report.from_dict(found))
    section = found["performance"]["calibration"]
    assert any(
        getattr(part, "path", "") == "performance.calibration.error"
        and part.value == section["error"]
        for part in drawing.caption
    )
    assert [row[0].value for row in drawing.data.rows] == [
        one["predicted"] for one in section["bins"]
    ]
    for one in section["bins"]:
        one["low"] = one["high"] = None
    bare = calibration_drawing(Report.from_dict(found))
    assert all(row[2] is row[3] is None for row in bare.data.rows)
    section["bins"] = []
    assert calibration_drawing(Report.from_dict(found)) is None


def test_the_worst_columns_are_drawn_with_their_three_shares():
    (column, *_) = complete()["balance"]["worst"]
    _, ax = mpl.pyplot.subplots()
    draw_column(ax, column, [str(k) for k in range(len(column["parts"]))])
    np.testing.assert_allclose(
        [bar.get_width() for bar in ax.patches],
        [part["target"] for part in column["parts"]],
    )
    for points, key in zip(ax.collections, ("source", "weighted"), strict=True):
        np.testing.assert_allclose(
            points.get_offsets()[:, 0], [part[key] for part in column["parts"]]
        )


def test_slices_that_miss_the_whole_are_marked():
    part = {"part": "value", "share": 0.5, "effective_rows": 99.0}
    parts = [
        {**part, "value": 0.0, "estimate": {"value": 1.0, "low": 0.5, "high": 2.5}},
        {**part, "value": 1.0, "estimate": {"value": 4.0, "low": 3.0, "high": 5.0}},
    ]
    _, ax = mpl.pyplot.subplots()
    draw_slices(ax, "$\\frac{", parts, ["$0$", "$1"], 2.0, "neg_log_loss")
    ax.figure.canvas.draw()
    marks = [line for line in ax.lines if line.get_marker() == "D"]
    assert [line.get_color() for line in marks] == [BLUE, ORANGE]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["$0$", "$1"]
    assert [text.get_text() for text in ax.texts] == []


def test_widths_of_less_than_a_decade_have_plain_numbers():
    widths = [
        {"width": w, "score": 0.1, "standard_error": 0.01, "chosen": w == 2.0}
        for w in (1.5, 2.0, 2.5, 3.0)
    ]
    _, ax = mpl.pyplot.subplots()
    draw_widths(ax, widths)
    ax.figure.canvas.draw()
    told = [text.get_text() for text in ax.get_xticklabels(which="both")]
    assert told == ["1.5", "2", "2.5", "3"]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_trade_off_is_drawn_with_its_prices_and_what_was_not_met():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    net = ConvexNetworkClassifier(hidden_layer_sizes=())
    curve = net.trade_off(X, X[:, 0] > 0.8, [0.45, 0.4, 0.01])
    ax = plot_trade_off(curve)
    points = {line.get_label(): line for line in ax.get_lines()}
    np.testing.assert_array_equal(points["objective"].get_xdata(), [0.45, 0.4])
    np.testing.assert_array_equal(points["objective"].get_ydata(), curve.objective[:2])
    np.testing.assert_array_equal(points["loss"].get_ydata(), curve.loss[:2])
    assert points["not met"].get_xdata().tolist() == [0.01]
    x, y = points["price"].get_data()
    assert -(y[1] - y[0]) / (x[1] - x[0]) == pytest.approx(curve.price[0], abs=1e-9)
    none = net.trade_off(X, X[:, 0] > 0.8, [0.01])
    with pytest.raises(ValueError, match=r"no bound .* was met"):
        plot_trade_off(none)
    with pytest.raises(TypeError, match="takes a TradeOff, got ndarray"):
        plot_trade_off(X)
