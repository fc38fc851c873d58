"""What the cells of `benchmarks/_second.py` plant, and how `benchmarks/_beside.py` judges."""

import numpy as np
import pytest

from benchmarks import _beside, _second
from benchmarks._cache import Cache
from benchmarks._second import LEVERAGE, NEAR, SCALED, USUAL
from torpca.metrics import subspace_error

EVERY = (*NEAR, *LEVERAGE, *SCALED)


def find(cells, **wanted):
    return next(c for c in cells if all(getattr(c, k) == v for k, v in wanted.items()))


def test_cells_have_names_of_their_own():
    # The names are the keys of the cache.
    assert len({cell.name for cell in EVERY}) == len(EVERY)


def test_every_value_is_in_the_list():
    assert {0.1, 0.2, 0.3, 0.4, 0.45} == {cell.fraction for cell in NEAR}
    assert {0.02, 0.05, 0.1} == {cell.noise for cell in NEAR}
    assert {1, 2, 5, 15, 30} == {cell.size[2] for cell in NEAR}
    n, d = ({cell.size[i] for cell in NEAR} for i in (0, 1))
    assert (min(n), max(n), min(d), max(d)) == (30, 2000, 5, 60)
    kinds = {cell.data.split(", at ")[0] for cell in NEAR}
    assert kinds == set(_second.GOOD) - {"t3", "t5"}
    assert {0.05, 0.1, 0.12, 0.14, 0.2} <= {cell.fraction for cell in LEVERAGE}
    assert {0.0, 0.1, 0.25, 0.4} == {cell.fraction for cell in SCALED}


@pytest.mark.parametrize("cell", EVERY, ids=lambda cell: cell.name)
def test_tables_are_as_their_cell_says(cell):
    X, bad, basis = cell.draw(0)
    n, d, r = cell.size
    assert X.shape == (n, d)
    assert np.all(np.isfinite(X))
    assert basis is None or basis.shape == (d, r)
    is_good = cell.fraction == 0 or cell.data.startswith("good")
    assert np.sum(bad) == (0 if is_good else round(cell.fraction * n))
    np.testing.assert_array_equal(X, cell.draw(0).X)
    assert not np.array_equal(X, cell.draw(1).X)


@pytest.mark.parametrize("at", [0.3, 0.75, 2.0])
def test_the_second_population_is_at_its_distance_and_off_the_subspace(at):
    X, bad, V = find(NEAR, data=f"Gaussian, at {at:g}", size=USUAL, noise=0.05, fraction=0.4).draw(
        0
    )
    aside = X[bad].mean(axis=0) - X[~bad].mean(axis=0)
    length = np.linalg.norm(1 / np.sqrt(np.arange(1, 6)))  # of the singular scales
    assert np.linalg.norm(aside - V @ (V.T @ aside)) == pytest.approx(at * length, rel=0.05)
    assert np.linalg.norm(V.T @ aside) < 0.15 * length  # the centre by chance
    np.testing.assert_allclose(X[bad].std(axis=0), 0.05, rtol=0.15)


def test_bad_leverage_is_far_inside_and_a_little_off_to_one_side():
    cell = find(LEVERAGE, data="bad, 2 noise off, 5 out in one direction", noise=0.05, fraction=0.1)
    X, bad, V = cell.draw(0)
    coefficients = X[bad] @ V * np.sqrt(np.arange(1, 6))  # in standard deviations
    np.testing.assert_allclose(coefficients.mean(axis=0), [0, 0, 0, 0, 5], atol=0.1)
    off = X[bad].mean(axis=0)
    off -= V @ (V.T @ off)
    assert np.linalg.norm(off) == pytest.approx(2 * 0.05, rel=0.2)


def test_proportional_noise_is_in_proportion():
    rng = np.random.default_rng(0)
    good = _second.proportional_noise(rng, USUAL, 0.05)
    lengths = np.linalg.norm(good.signal, axis=1)
    noise = np.linalg.norm(good.observed(good.signal) - good.signal, axis=1)
    np.testing.assert_allclose(noise / lengths * good.length / np.sqrt(50), 0.05, rtol=0.6)


def test_one_hot_bad_rows_are_fewer_than_each_kind_of_good_ones():
    # Else the subspace of all kinds but one and the bad rows holds more rows than the true one.
    cells = [cell for cell in NEAR if cell.data.startswith("one-hot")]
    assert len(cells) == 4
    for cell in cells:
        r = cell.size[2]
        assert cell.fraction < (1 - cell.fraction) / (r + 1), cell.name


def test_rows_without_a_subspace_of_their_own_are_judged_by_what_is_left_over():
    cell = find(NEAR, data="power law, at 1")
    table = cell.draw(0)
    judge = _beside.Judge(cell, table)
    assert judge.measure == "left over"
    good = table.X[~table.bad] - table.X[~table.bad].mean(axis=0)
    s = np.linalg.svd(good, compute_uv=False)
    assert judge.oracle == pytest.approx(np.sum(s[2:] ** 2) / len(good))
    assert judge.error(np.zeros((20, 2))) == pytest.approx(np.sum(s**2) / len(good))


def test_subspaces_found_in_other_units_are_compared_in_those_of_the_oracle():
    cell = SCALED[1]
    table = cell.draw(0)
    judge = _beside.Judge(cell, table)
    units = np.geomspace(1e-3, 1e3, 20)
    # The true subspace, as it is in features divided by other units, is no error.
    V = np.linalg.qr(table.basis / units[:, None])[0]
    assert judge.error(V, units) < 1e-8
    assert judge.error(V) > 0.1
    assert judge.basis.shape == (20, 3)
    assert subspace_error(np.linalg.qr(table.basis / judge.units[:, None])[0], judge.basis) < 1e-12


def test_fewer_directions_than_asked_for_are_a_whole_error():
    cell = find(NEAR, data="Gaussian, at 0.5", fraction=0.3, noise=0.05, size=USUAL)
    table = cell.draw(0)
    V = table.basis.copy()
    V[:, -1] = 0
    assert _beside.Judge(cell, table).error(V) == 1.0
    assert _beside.Judge(cell, table).error(0 * V) == 1.0


@pytest.mark.parametrize(
    ("ours", "hubert", "mcd", "expected"),
    [
        (1.0, 1.0, 1.0, True),
        (1.09, 1.05, 2.0, True),
        (1.09, 2.0, 1.0, False),  # the better of the two is nearer by more than 5 %
        (1.2, 5.0, 5.0, False),  # too far from the oracle, whatever others do
    ],
)
def test_the_claim(ours, hubert, mcd, expected):
    ratios = {"ours": [ours], "PcaHubert": [hubert], "MCD": [mcd], "PCA": [0.5]}
    assert _beside.holds(ratios) is expected


def test_a_line_says_how_often_ours_failed_and_warned(monkeypatch):
    cell = find(NEAR, size=(30, 5, 2))
    tables = [cell.draw(seed) for seed in range(3)]

    def fit(cell, X):  # right, wrong without a word, wrong with a warning
        number = next(i for i, table in enumerate(tables) if np.array_equal(table.X, X))
        wrong = np.linalg.svd(tables[number].basis)[0][:, -2:]
        return (wrong if number else tables[number].basis), 1.0, number == 2

    monkeypatch.setattr(_beside, "fit_ours", fit)
    line = _beside.line(cell, 3, Cache(), ())
    assert (line["failed"], line["warned"]) == ("2 of 3", "1 of 2")
    assert line["holds"] is False


def test_figures_of_others_come_from_the_cache(tmp_path, monkeypatch):
    cell, cache = find(NEAR, size=(30, 5, 2)), Cache(tmp_path / "rivals.json")
    monkeypatch.setattr(_beside, "RIVALS", ("PCA", "MCD"))  # no R
    (before,) = _beside.lines([cell], cache, seeds=2)

    def never(*arguments):
        raise AssertionError("run again")

    monkeypatch.setattr(_beside, "rival_errors", never)
    (after,) = _beside.lines([cell], Cache(tmp_path / "rivals.json"), seeds=2)
    assert after == before
    with pytest.raises(AssertionError, match="run again"):
        list(_beside.lines([cell], Cache(tmp_path / "rivals.json"), seeds=3))
    (alone,) = _beside.lines([cell], Cache(), seeds=3, alone=True)
    assert alone["MCD"] == "-"


def test_the_cache_finds_again_what_changed_rows_made_stale(tmp_path):
    cache = Cache(tmp_path / "kept.json")
    X = np.arange(6.0).reshape(3, 2)
    assert cache.get("a", X, lambda: {"auc": [0.5]}) == {"auc": [0.5]}
    assert Cache(tmp_path / "kept.json").get("a", X, lambda: None) == {"auc": [0.5]}
    assert Cache(tmp_path / "kept.json").get("a", X + 1, lambda: 2.0) == 2.0
