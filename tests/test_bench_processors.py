"""What `benchmarks/processors.py` fits, how it compares fits, and how it counts."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse

from benchmarks import processors
from benchmarks._fits import Process
from benchmarks._operations import OPERATIONS
from benchmarks._parting import STEPS, Fitted, fitted, moved, step
from benchmarks._tables import BUNDLED, KINDS, Table, bundled, generated, numeric, tables
from benchmarks._tries import Try, changed_tables, compare, last_line, line
from tests._shared import warnings_of
from torpca import OutlierRobustPCA

# ---- tables --------------------------------------------------------------------------------------


def test_seventy_tables_of_every_kind_and_size():
    some = tables(KINDS)
    assert len(some) == 70
    assert {table.family for table in some} == set(KINDS)
    sizes = {table.X.shape for table in some}
    assert any(n > 16_000 for n, _ in sizes)
    assert any(n < d for n, d in sizes)
    assert all(np.all(np.isfinite(table.X)) for table in some)


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_is_the_same_each_time_and_another_with_each_seed(kind):
    some, again = (generated(kind, 2, long=False) for _ in range(2))
    for one, other in zip(some, again, strict=True):
        np.testing.assert_array_equal(one.X, other.X)
    assert not np.array_equal(some[0].X, some[1].X)


def test_a_table_that_is_there_twice_counts_once(capsys):
    assert len(tables([BUNDLED, BUNDLED])) == len(bundled()) >= 6


def test_what_is_not_installed_is_said(capsys, monkeypatch):
    monkeypatch.setattr("benchmarks._tables.find_spec", lambda name: None)
    assert tables(["statsmodels"]) == []
    assert "statsmodels is not installed" in capsys.readouterr().out


def test_columns_of_text_and_rows_with_gaps_do_not_count():
    pd = pytest.importorskip("pandas", reason="needs pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((30, 3)), columns=["a", "b", "c"])
    frame["name"] = "x"
    frame.loc[4, "b"] = np.nan
    X = numeric(frame)
    np.testing.assert_array_equal(X, frame[["a", "b", "c"]].drop(4).to_numpy())
    assert numeric(frame[:15]) is None
    assert numeric(frame[["a", "name"]]) is None


# ---- operations ----------------------------------------------------------------------------------


def as_array(X):
    if scipy.sparse.issparse(X):
        return X.toarray()
    return np.asarray(X, dtype=np.float64)


def apart(X):
    """Distances between all pairs of rows."""
    return np.sqrt(np.sum(np.square(X[:, None] - X[None]), axis=2))


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_is_undone(name):
    operation = OPERATIONS[name]
    if not operation.there:
        pytest.skip(f"needs {operation.needs}")
    X = np.random.default_rng(1).standard_normal((12, 4))
    changed = operation.apply(X, np.random.default_rng(2))
    Z = as_array(changed.X)
    np.testing.assert_array_equal(np.sort(changed.rows) % 12, np.sort(changed.rows))
    for places in changed.places:
        np.testing.assert_array_equal(changed.rows[places], np.arange(12))
        tol = 1e-6 if name == "float32" else 1e-12
        np.testing.assert_allclose(apart(Z[places]) / changed.unit, apart(X), atol=tol)
    same = np.array_equal(Z, X) and changed.weights is None
    assert same == (operation.kind == "source" or name == "plain")


@pytest.mark.parametrize("name", ["row order", "rows twice"])
def test_what_is_said_of_rows_comes_back_in_their_order(name):
    n = 12
    changed = OPERATIONS[name].apply(np.arange(2.0 * n).reshape(n, 2), np.random.default_rng(0))
    found = Fitted(flagged=changed.rows % 3 == 0, rank=1, weights=changed.rows.astype(float))
    for places in changed.places:
        back = found.of_rows(places)
        np.testing.assert_array_equal(back.flagged, np.arange(n) % 3 == 0)
        np.testing.assert_array_equal(back.weights, np.arange(n))


# ---- where two fits part -------------------------------------------------------------------------


LONGER = ((2, 1.0, 0.8), (2, 1e-3, 0.9), (2, 1e-9, 0.9))


def made_up(**changes):
    n = 20
    found = Fitted(
        flagged=np.arange(n) < 2,
        rank=2,
        weights=np.where(np.arange(n) < 2, 0.0, 1.0),
        distances=np.column_stack([np.linspace(0.5, 2, n), np.linspace(3, 1, n)]),
        units=(2.5, 2.0),
        candidate="pairs",
        history=LONGER,
    )
    return replace(found, **changes)


OTHER = {
    "flagged": np.arange(20) < 5,
    "weights": np.where(np.arange(20) < 5, 0.0, 1.0),
    "distances": np.column_stack([np.linspace(0.6, 3, 20), np.linspace(4, 1, 20)]),
}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"history": ((2, 1.0, 0.7), *LONGER[1:])}, "start"),
        ({"candidate": "side"}, "choice"),
        ({"candidate": "side", "history": ((1, 1.0, 0.7),), "rank": 1}, "choice"),
        ({"history": ((1, 1.0, 0.8),), "rank": 1}, "rank"),
        ({"history": (*LONGER, (3, 0.5, 0.9)), "rank": 3}, "rank"),
        ({"history": (LONGER[0], (3, 1e-3, 0.9))}, "rank"),
        ({"history": (LONGER[0], (2, 2e-3, 0.9), LONGER[2])}, "iteration"),
        ({"history": (LONGER[0], (2, 1e-3, 0.95), LONGER[2])}, "iteration"),
        ({"history": (*LONGER, (2, 1e-4, 0.9))}, "iteration"),
        ({"rank": 1}, "rank"),
        ({}, "iteration"),
        ({"weights": made_up().weights}, "limits"),
        ({"weights": made_up().weights, "distances": made_up().distances}, "limits"),
        # They have come together again since.
        ({"candidate": "side", "distances": made_up().distances}, "limits"),
    ],
)
def test_the_step_at_which_two_fits_part(changes, expected):
    other = made_up(**{**OTHER, **changes})
    assert step(made_up(), other, 1e-6) == step(other, made_up(), 1e-6) == expected
    assert expected in STEPS


def test_another_sample_is_another_start():
    one, other = made_up(sampled=True), made_up(sampled=True, candidate="side", **OTHER)
    assert step(one, other, 1e-6) == "choice"
    assert step(one, other, 1e-6, redrawn=True) == "start"
    assert step(made_up(), made_up(candidate="side", **OTHER), 1e-6, redrawn=True) == "choice"


def test_rounding_is_no_difference_where_rows_have_no_noise():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 6))
    found = fitted(OutlierRobustPCA().fit(X), 60, ())
    rough = replace(found, distances=found.distances + 1e-14, flagged=~found.flagged)
    assert step(found, rough, 1e-6) == "limits"


def test_a_model_without_records_has_a_step_all_the_same():
    class Model:
        outlier_type_ = np.array(["regular", "orthogonal"])
        n_components_, explained_variance_ = 1, np.ones(1)
        score_distances_ = orthogonal_distances_ = np.ones(2)

    found = fitted(Model(), 2, ())
    np.testing.assert_array_equal(found.flagged, [False, True])
    assert step(found, replace(found, distances=2 * found.distances), 1e-6) == "iteration"


# ---- what a fit says -----------------------------------------------------------------------------


def said_of(X):
    model = OutlierRobustPCA()
    said = [str(entry.message) for entry in warnings_of(model, X)]
    return fitted(model, len(X), said)


def test_a_warning_of_another_answer_is_told_from_others():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2)) @ rng.standard_normal((2, 8))
    X += 0.01 * rng.standard_normal((300, 8))
    quiet = said_of(X)
    assert not quiet.said
    assert not quiet.warned
    holes = X.copy()
    holes[rng.random(300) < 0.6, 7] = np.nan
    unrelated = said_of(holes)
    assert unrelated.warned  # of a column that is mostly missing
    assert not unrelated.said
    X[:100] += 40 * np.linalg.svd(X, full_matrices=False)[2][0]
    assert said_of(X).said  # of two groups


# ---- counts --------------------------------------------------------------------------------------

TABLE = Table("counts", "some", np.zeros((20, 3)))


def test_a_change_is_silent_unless_a_fit_says_so():
    one = made_up()
    other = made_up(**OTHER)
    found = compare(TABLE, "Sandybridge", [one], [other])
    assert (found.moved, found.step) == (3 / 20, "iteration")
    assert found.counts
    assert found.silent
    told = replace(other, warned=("the flagged rows depend on where the fit starts. From ...",))
    assert not compare(TABLE, "Sandybridge", [one], [told]).silent
    assert not compare(TABLE, "Sandybridge", [told], [one]).silent
    unrelated = compare(TABLE, "Sandybridge", [one], [replace(other, warned=("few rows",))])
    assert unrelated.silent
    assert unrelated.warned
    same = compare(TABLE, "Sandybridge", [one], [made_up()])
    assert (same.differs, same.counts, same.silent) == (False, False, False)


def test_a_label_counts_for_a_kernel_and_two_percent_for_an_operation():
    n = 100
    few = Fitted(flagged=np.arange(n) < 1, rank=1)
    none = Fitted(flagged=np.zeros(n, dtype=bool), rank=1)
    assert compare(TABLE, "SkylakeX", [none], [few]).counts
    shifted = compare(TABLE, "shift", [none], [few])
    assert (shifted.differs, shifted.counts) == (True, False)
    assert compare(TABLE, "shift", [none], [replace(few, rank=2)]).counts
    assert compare(TABLE, "shift", [none], [replace(few, flagged=np.arange(n) < 3)]).counts


def test_both_copies_of_a_row_are_compared():
    one, other = made_up(), made_up(**OTHER)
    assert compare(TABLE, "rows twice", [one], [one, other]).moved == moved(one, other) / 2
    assert compare(TABLE, "weights of two", [one, other], [other]).moved == moved(one, other) / 2


def test_an_error_of_one_fit_is_a_change_and_of_both_no_try(capsys):
    found = compare(TABLE, "Zen", [made_up()], "ValueError: no")
    assert (found.step, found.counts, found.silent) == ("error", True, True)
    assert compare(TABLE, "Zen", "ValueError: no", "ValueError: no") is None
    assert "no fit" in capsys.readouterr().out


def test_the_last_line_counts_tables_once_and_operations_each():
    def attempt(what, kind, share, *, table="a", said=False):
        return Try("counts", table, "9 x 9", what, kind, share, (1, 1), said, said, "rank")

    tries = [
        attempt("Zen", "kernel", 0.01),
        attempt("SkylakeX", "kernel", 0.01, said=True),
        attempt("SkylakeX", "kernel", 0.01, said=True, table="b"),
        attempt("shift", "table", 0.01),
        attempt("shift", "table", 0.03, table="b"),
        attempt("sparse (CSR)", "source", 0.03, said=True),
        attempt("rotation", "digits", 0.5),
    ]
    assert changed_tables(tries[:3]) == (2, 1)
    assert line(tries[3:6])["silent"] == 1
    found = last_line(9, 3, tries)
    assert found.startswith(
        "9 tables, 3 kernels: 2 change, 1 silently; "
        "3 tries: 2 move more than 2 % of the labels, or the rank, 1 silently"
    )
    assert "1 tries, 1, 1 silently" in found


# ---- processes -----------------------------------------------------------------------------------


def test_kernels_that_are_the_same_are_one_machine(monkeypatch):
    got = {"Haswell": "Haswell", "Zen": "Haswell", "Sandybridge": "Sandybridge", "": "Haswell"}

    def run(self, *arguments):
        if self.kernel not in got:
            raise RuntimeError("an illegal instruction")
        return f"{got[self.kernel]}\n{self.threads}\n"

    monkeypatch.setattr(Process, "run", run)
    found = processors.kernels(["Haswell", "Zen", "SkylakeX", "Sandybridge"])
    assert processors.different(found) == {"Haswell": "Haswell", "Sandybridge": "Sandybridge"}
    said = [entry["counts as"] for entry in processors.kernel_lines(found)]
    assert said == ["Haswell", "Haswell", "-", "Sandybridge", "Haswell"]


def test_fits_in_processes_of_their_own(tmp_path):
    # Rows with one answer, and bad ones that nobody would miss.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 2)) @ rng.standard_normal((2, 5))
    X += 0.01 * rng.standard_normal((80, 5))
    X[:8] += 50 * rng.standard_normal((8, 5))
    operations = [name for name, o in OPERATIONS.items() if name != "plain" and o.there]
    machines = {"this": "", "again": ""}
    tries = processors.compared([Table("planted", "planted", X)], machines, operations, 2, tmp_path)
    assert [t.what for t in tries] == ["again", *operations]
    assert not tries[0].differs
    assert not any(t.counts for t in tries)
    assert {t.ranks for t in tries} == {(2, 2)}
    found = processors.load(str(tmp_path / "fit0.npz"))
    expected = OutlierRobustPCA().fit(X)
    np.testing.assert_array_equal(found[0].flagged, expected.outlier_type_ != "regular")
    assert np.all(found[0].flagged[:8])
    assert found[0].candidate == expected.start_.name
    assert len(found[0].history) == expected.n_iter_


def test_a_process_has_the_kernel_and_the_threads_it_is_given():
    own, other = processors.kernels(["Sandybridge"])[::-1]
    assert own.threads == 1
    assert Process("", threads=2).run("--kernel").split("\n")[1] == "2"
    if other.got in (None, own.got):
        pytest.skip("this BLAS has one kernel here")
    assert other.got == "Sandybridge"


def test_a_process_that_fails_says_why():
    with pytest.raises(RuntimeError, match=r"no-such-job\.json"):
        Process("").run("no-such-job.json")
