"""A training is what its recipe says, to the bit."""

import numpy as np
import pytest
import torch
from deep.partial_samples import make_partial, training
from sklearn.exceptions import ConvergenceWarning

from counterpoise import InvalidInputError
from counterpoise.deep import PartialDomainClassifier
from counterpoise.deep.training import (
    Schedule,
    TrainingRows,
    effective_classes,
    linear_auc,
)
from counterpoise.selection import select_classes

pytestmark = pytest.mark.filterwarnings(
    "ignore::counterpoise.WeakClassifierWarning",
)


def model(method="sspda", **parameters):
    fast = {"max_iter": 60, "hidden": 16, "learning_rate": 0.1, "random_state": 0}
    return PartialDomainClassifier(method, **{**fast, **parameters})


def fitted(method="sspda", **parameters):
    X, y, X_target, _ = make_partial()
    return model(method, **parameters).fit(X, y, X_target=X_target)


def answers(network):
    return network.predict_proba(make_partial()[2])


@pytest.fixture(autouse=True)
def own_random_numbers():
    with torch.random.fork_rng(devices=[]):
        yield


@pytest.mark.parametrize("method", ["sspda", "pada", "dann", "source"])
def test_one_seed_gives_the_same_bits_and_another_does_not(method):
    first, again = fitted(method), fitted(method)
    assert np.array_equal(answers(first), answers(again))
    assert not np.array_equal(answers(first), answers(fitted(method, random_state=1)))


def test_pada_with_weights_of_one_is_dann_to_the_bit():
    for schedule in ("late", "published"):
        ones = fitted("pada", class_weight=None, schedule=schedule)
        dann = fitted("dann", schedule=schedule)
        assert np.array_equal(answers(ones), answers(dann))
        assert not np.array_equal(
            answers(fitted("pada", schedule=schedule)), answers(dann)
        )


def test_sspda_without_its_own_terms_is_pada_to_the_bit():
    bare = fitted("sspda", entropy=0.0, selection=0.0)
    assert np.array_equal(answers(bare), answers(fitted("pada")))
    for one in ({"entropy": 0.0}, {"selection": 0.0}):
        assert not np.array_equal(answers(bare), answers(fitted("sspda", **one)))


def test_class_weights_are_mean_probabilities_over_their_largest():
    found = fitted("sspda")
    np.testing.assert_allclose(
        found.class_weight_, found.class_prior_ / found.class_prior_.max(), rtol=1e-5
    )
    np.testing.assert_allclose(
        found.class_prior_, answers(found).mean(axis=0), rtol=1e-12
    )
    assert found.history_[-1].n_effective == pytest.approx(
        effective_classes(found.class_prior_), rel=1e-5
    )


def test_rows_of_a_class_of_weight_zero_get_no_gradient():
    weight = np.array([1.0, 0.5, 0.0, 1.0, 1.0, 1.0])
    found = []
    for moved in (0.0, 5.0):
        run = training(weight, moving=False)
        places, _ = run.rows.batch(0, 40, 36, False)
        hit = run.rows.y[places] == 2
        assert hit.any()
        run.rows.source[run.rows.y == 2] += moved
        torch.manual_seed(1)
        run._loss(40).backward()
        found.append([part.grad for part in run.network.parameters()])
    for one, other in zip(*found, strict=True):
        assert torch.equal(one, other)


def test_the_loss_is_the_sum_that_the_docstring_states():
    weight = np.array([1.0, 0.5, 0.2, 0.1, 1.0, 0.7])
    run = training(weight, moving=False)
    # Nothing is dropped, so that both passes agree.
    run.network.eval()
    step = 50
    found = float(run._loss(step).detach())
    places, aims = run.rows.batch(0, step, 36, False)
    with torch.no_grad():
        features = run.network.features_of(run.rows.source[places])
        features_target = run.network.features_of(run.rows.aims[aims])
        p, q = (
            torch.softmax(run.network.head(part), 1).double().numpy()
            for part in (features, features_target)
        )
        d, e = (
            torch.sigmoid(run.network.discriminator(part).ravel()).double().numpy()
            for part in (features, features_target)
        )
    gamma = weight[run.rows.y[places]]

    def h(shares):
        return -(shares * np.log(shares)).sum(axis=1)

    doubt, doubt_target = (1 + h(np.column_stack([one, 1 - one])) for one in (d, e))
    wanted = -(gamma * np.log(p[np.arange(36), run.rows.y[places]])).mean()
    wanted += -(gamma * np.log(1 - d)).mean() - np.log(e).mean()
    wanted += 0.1 * ((gamma * doubt * h(p)).mean() + (doubt_target * h(q)).mean())
    wanted += 0.03 * 1.0 / 6 * q.max(axis=0).sum()
    assert found == pytest.approx(wanted, rel=1e-5)


def test_the_late_schedule_leaves_the_source_alone_until_the_warm_up_is_over():
    late = Schedule("late", 1 / 3, 0.2, 600)
    assert late.warm_steps == 200
    assert not late.has_adversary(199)
    assert late.has_adversary(200)
    assert late.reversal(200) == 0.0
    assert late.reversal(600) == pytest.approx(0.2, rel=1e-4)
    published = Schedule("published", 1 / 3, 0.2, 600)
    assert published.has_adversary(0)
    assert published.reversal(0) == 0.0
    assert published.reversal(600) == pytest.approx(1.0, rel=1e-4)
    assert published.reversal(300) == pytest.approx(2 / (1 + np.exp(-5)) - 1)
    assert late.rate(0) == 1.0
    assert late.rate(600) == pytest.approx(11**-0.75)
    assert [late.selecting(step) for step in (0, 150, 300, 450)] == [0.0, 0.5, 1.0, 1.0]


def test_updates_are_twelve_and_those_at_both_ends():
    schedule = Schedule("late", 1 / 3, 0.2, 600)
    assert [k for k in range(1, 601) if schedule.is_update(k)] == [*range(50, 601, 50)]
    odd = Schedule("late", 0.31, 0.2, 77)
    updates = [k for k in range(1, 78) if odd.is_update(k)]
    assert odd.warm_steps == 24
    assert updates == sorted({*range(6, 78, 6), 24, 77})


@pytest.mark.parametrize("max_iter", [60, 61, 7])
def test_what_is_told_is_of_the_whole_target_whatever_the_iterations(max_iter):
    found = fitted("sspda", max_iter=max_iter)
    assert found.history_[-1].iteration == found.n_iter_ == max_iter
    whole = answers(found).mean(axis=0)
    np.testing.assert_allclose(found.class_prior_, whole, rtol=1e-12)


def test_a_row_of_weight_two_is_the_row_twice_and_order_is_no_matter():
    X, y, X_target, _ = make_partial(n=60)
    weight = np.random.default_rng(0).integers(0, 3, len(X))
    often = np.repeat(np.arange(len(X)), weight)
    rng = np.random.default_rng(1)
    mixed, mixed_target = rng.permutation(often), rng.permutation(len(X_target))
    for balanced in (False, True):
        one = model(class_balanced=balanced)
        one.fit(X, y, X_target=X_target, sample_weight=weight)
        other = model(class_balanced=balanced)
        other.fit(X[mixed], y[mixed], X_target=X_target[mixed_target])
        assert np.array_equal(one.predict_proba(X), other.predict_proba(X))


def test_balanced_batches_draw_every_class_alike():
    X, y, X_target, _ = make_partial(n=600)
    kept = (y > 0) | (np.arange(600) < 30)
    rows = TrainingRows.of(
        X[kept], y[kept], np.ones(kept.sum()), X_target, 6, (X.shape[1],)
    )
    drawn = {
        balanced: np.mean(
            [np.mean(rows.y[rows.batch(0, k, 36, balanced)[0]] == 0) for k in range(80)]
        )
        for balanced in (False, True)
    }
    assert drawn[False] < 0.03
    assert abs(drawn[True] - 1 / 6) < 0.03


def test_the_guard_returns_the_warm_up_where_classes_collapse():
    X, y, X_target, _ = make_partial()
    # Rows of no class at all.
    noise = np.random.default_rng(0).normal(size=X_target.shape)
    with pytest.warns(ConvergenceWarning, match=r"collapsed: 1\.\d effective"):
        found = model("sspda", entropy=3.0).fit(X, y, X_target=noise)
    assert found.guarded_
    assert found.stopped_early_
    assert found.n_iter_ < 60
    first = next(one for one in found.history_ if one.iteration == 20)
    assert effective_classes(found.class_prior_) == pytest.approx(
        first.n_effective, rel=1e-5
    )
    bare = model("sspda", entropy=3.0, guard=0.0).fit(X, y, X_target=noise)
    assert not bare.guarded_
    assert bare.n_iter_ == 60
    assert effective_classes(bare.class_prior_) < 1.8


def test_weights_do_not_move_where_all_classes_seem_to_be_there():
    everything = make_partial(present=range(6), moved=0.0)
    found = model("pada").fit(*everything[:2], X_target=everything[2])
    assert not found.partial_
    assert found.class_weight_.tolist() == [1.0] * 6
    forced = model("pada", guard=0.0).fit(*everything[:2], X_target=everything[2])
    assert forced.class_weight_.min() < 1.0
    assert fitted("pada").partial_


def test_a_training_may_end_early_without_target_labels():
    usual = {"max_iter": 120, "monitor": "entropy"}
    whole = fitted("source", **usual)
    assert whole.n_iter_ == 120
    least = min(one.entropy for one in whole.history_ if one.iteration >= 40)
    p = answers(whole)
    assert -(p * np.log(p)).sum(axis=1).mean() == pytest.approx(least, rel=1e-4)
    hard = {"learning_rate": 0.5, "momentum": 0.0, "batch_size": 2}
    early = fitted("source", patience=1, **usual, **hard)
    assert early.stopped_early_
    assert early.n_iter_ < 120


def test_a_callback_hears_every_update_and_may_end_the_training():
    heard = []
    found = fitted(callback=lambda record: heard.append(record.iteration))
    assert heard == [one.iteration for one in found.history_]
    assert not found.stopped_early_
    stopped = fitted(callback=lambda record: record.iteration >= 30)
    assert stopped.n_iter_ == 30
    assert stopped.stopped_early_


def test_a_training_that_diverges_says_so():
    with pytest.raises(InvalidInputError, match="choose a learning_rate below 1e\\+30"):
        fitted(learning_rate=1e30)


def test_a_training_that_diverges_late_returns_the_warm_up():
    with pytest.warns(ConvergenceWarning, match="diverged within"):
        found = fitted(selection=1e38, entropy=1e38, guard=0.0)
    assert np.isfinite(answers(found)).all()
    assert not found.guarded_
    assert found.stopped_early_


def test_features_that_tell_nothing_have_an_auc_of_one_half():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1200, 4))
    assert abs(linear_auc(rows[:600], rows[600:]) - 0.5) < 0.1
    assert linear_auc(rows[:600], rows[600:] + 2.0) > 0.95
    assert linear_auc(rows[:7], rows[600:]) is None


def test_the_selection_of_classes_may_weigh_them():
    X, y, X_target, _ = make_partial()
    found = model("pada", class_weight="selection").fit(X, y, X_target=X_target)
    shares = select_classes(X, y, X_target, random_state=0).shares
    assert found.class_weight_.max() == 1.0
    assert (found.class_weight_[3:] < 0.02).all()
    assert (shares[3:] < 2e-3).all()


def test_fixed_class_weights_are_used_throughout():
    weight = np.array([2.0, 2.0, 1.0, 0.0, 0.0, 0.0])
    found = fitted("source", class_weight=weight, max_iter=120)
    np.testing.assert_allclose(found.class_weight_, weight / 2.0)
    assert answers(found)[:, 3:].max() < answers(fitted("source"))[:, 3:].max()
    # Rows of weight zero are never learned.
    assert found.class_prior_[3:].sum() < 0.2
