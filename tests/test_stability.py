"""What a fit says of its own dependence on the start and on the number of components."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from tests._shared import warnings_of
from torpca import OutlierRobustPCA, load_model, save_model
from torpca._answer import answer
from torpca._estimators import stability
from torpca._report.words import stability_words
from torpca.datasets import make_outlier_subspace


def two_planes(n=120, seed=0):
    """Rows on two planes through one point, as many on each: any answer depends on the start."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((8, 4)))[0]
    on = [rng.standard_normal((n // 2, 2)) @ V.T for V in (Q[:, :2], Q[:, 2:])]
    return np.vstack(on) + 0.01 * rng.standard_normal((n, 8))


def planted(share=0.2, n=300, d=10, seed=0):
    return make_outlier_subspace(n, d, 2, share, outliers="cluster", noise=0.01, random_state=seed)


def test_it_has_the_fits_with_other_choices():
    made = planted()
    model = OutlierRobustPCA(2).fit(made.X)
    found = model.stability_
    assert (found.n_rows, found.n_components) == (300, 2)
    assert found.n_flagged == np.count_nonzero(model.outlier_type_ != "regular") >= 60
    fewer, more, *again = found.refits
    for refit, what, k in ((fewer, "fewer", 1), (more, "more", 3)):
        rng = np.random.default_rng((stability.SEED, 0))
        with warnings.catch_warnings():  # of two groups inside
            warnings.simplefilter("ignore", RuntimeWarning)
            other = OutlierRobustPCA(k, random_state=rng).fit(made.X)
        assert (refit.what, refit.n_components) == (f"one component {what}", k)
        n_flagged = np.count_nonzero(other.outlier_type_ != "regular")
        assert refit.n_flagged == pytest.approx(n_flagged, abs=3)  # from other directions
        changed = np.mean((other.outlier_type_ != "regular") != (model.outlier_type_ != "regular"))
        assert refit.share_changed == pytest.approx(changed, abs=0.01)
    assert fewer.share_changed > 0.1
    assert [refit.what for refit in again] == ["another start"] * stability.STARTS
    assert all(refit.share_changed <= 0.02 and refit.subspace_change < 1e-3 for refit in again)


def test_it_is_found_once_and_survives_a_pickle():
    model = OutlierRobustPCA(2).fit(planted().X)
    assert model.stability_ is model.stability_
    assert pickle.loads(pickle.dumps(model)).stability_ == model.stability_
    assert model.fit(planted(0.1).X).stability_.n_flagged < 60


def test_there_is_none_before_a_fit_or_from_a_file(tmp_path):
    with pytest.raises(NotFittedError):
        _ = OutlierRobustPCA().stability_
    model = load_model(save_model(OutlierRobustPCA(2).fit(planted().X), tmp_path / "model.npz"))
    with pytest.raises(AttributeError, match=r"loaded from a file.*Fit a part of the rows"):
        _ = model.stability_


def test_long_rows_are_looked_at_in_their_span():
    made = make_outlier_subspace(60, 20_000, 2, 0.2, outliers="cluster", noise=0.01, random_state=0)
    model = OutlierRobustPCA(2).fit(made.X)
    assert max(model._probe.Z.shape) <= 60
    found = model.stability_
    # So few rows with so many features: which two or three are just beyond a limit is chance.
    assert abs(found.n_flagged - np.count_nonzero(model.outlier_type_ != "regular")) <= 3
    assert all(r.subspace_change < 0.1 for r in found.refits if r.what == "another start")


def test_of_many_rows_some_are_looked_at():
    made = planted(n=20_000, d=20)
    model = OutlierRobustPCA(2).fit(made.X)
    assert model._probe.Z.size <= stability.NUMBERS
    assert model.stability_.n_rows == stability.MOST_ROWS
    assert model.stability_.n_flagged == pytest.approx(0.21 * stability.MOST_ROWS, rel=0.2)


def test_rows_without_weight_have_no_part_in_it():
    made = planted()
    weights = np.where(made.outliers, 0.0, 1.0)
    found = OutlierRobustPCA(2).fit(made.X, sample_weight=weights).stability_
    assert found.n_rows == np.count_nonzero(weights)
    assert found.n_flagged < 0.05 * found.n_rows


def test_the_angle_is_that_of_the_smaller_subspace_with_the_larger():
    V = np.eye(5)[:, :2]
    W = np.column_stack([np.eye(5)[:, 0], np.eye(5)[:, 3], np.eye(5)[:, 1]])
    assert stability.angle_between(V, W) == stability.angle_between(W, V) == 0.0
    assert stability.angle_between(V, W[:, :2]) == 1.0
    assert stability.angle_between(V, W[:, :0]) == 0.0


# ---- warnings ------------------------------------------------------------------------------------


def said(model, X):
    return " ".join(str(entry.message) for entry in warnings_of(model, X))


def test_labels_that_depend_on_the_start_are_warned_of():
    # Three groups of like size: any two of them lie near a line.
    rng = np.random.default_rng(3)
    places = 3 * np.linalg.qr(rng.standard_normal((6, 3)))[0].T
    X = np.repeat(places, 30, axis=0) + 0.3 * rng.standard_normal((90, 6))
    messages = [said(OutlierRobustPCA(1, random_state=seed), X) for seed in range(3)]
    for message in messages:
        assert "depend on where the fit starts" in message
        assert "stability_" in message


@pytest.mark.parametrize(("share", "apart"), [(0.4, True), (0.25, True), (0.4, False), (0.1, True)])
def test_two_groups_inside_the_subspace_are_warned_of(share, apart):
    rng = np.random.default_rng(0)
    C = rng.standard_normal((300, 2))
    C[: round(300 * share), 0] += 12 if apart else 1
    X = C @ np.linalg.qr(rng.standard_normal((8, 2)))[0].T + 0.01 * rng.standard_normal((300, 8))
    message = said(OutlierRobustPCA(2, trim=0), X)
    if apart and share > 0.1:
        assert f"two groups, of {1 - share:.0%} and {share:.0%}" in message
        assert "fit the groups separately" in message
    else:
        assert "two groups" not in message


@pytest.mark.parametrize("law", ["normal", "uniform", "student"])
def test_one_group_is_not_taken_for_two(law):
    rng = np.random.default_rng(0)
    draw = {"normal": rng.standard_normal, "uniform": rng.random}
    C = rng.standard_t(5, (400, 10)) if law == "student" else draw[law]((400, 10))
    assert not said(OutlierRobustPCA(3), C * np.where(np.arange(10) < 3, 10.0, 1.0))


def test_a_feature_of_two_values_is_not_two_groups():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 6))
    X[:, 0] = 20.0 * (np.arange(400) < 160)
    assert "two groups" not in said(OutlierRobustPCA(2, trim=0), X)


def test_a_given_share_to_leave_out_is_not_compared_with_other_starts():
    assert "where the fit starts" not in said(OutlierRobustPCA(2, trim=0.3), two_planes())


# ---- the report ----------------------------------------------------------------------------------


def test_the_report_says_when_the_number_of_components_matters():
    X = planted().X
    model = OutlierRobustPCA(2).fit(X)
    found = model.stability_
    (said,) = stability_words(model.stability_, len(X))
    assert f"{found.n_flagged} with 2 components" in said
    assert f"{found.refits[0].n_flagged} with 1 component," in said
    assert answer(model, X[:50], new=True).stability is None
    assert stability_words(None, 50) == []
    same = tuple(replace(refit, share_changed=0.0) for refit in found.refits)
    alike = replace(found, refits=same)
    assert stability_words(alike, len(X)) == []
