"""A model as an ONNX graph: onnxruntime says of rows what the model says of them."""

import json
import sys

import numpy as np
import pytest

from tests._shared import UNITS, coinciding_rows, named_frame, some
from torpca import (
    TORP,
    GaussianTORP,
    NoisyTORP,
    OutlierRobustPCA,
    load_model,
    save_model,
    to_onnx,
)
from torpca._export.onnx import ROW_TYPES
from torpca.datasets import make_outlier_subspace

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

UNSURE = pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")


def run(model, rows, **options):
    """Outputs of the graph of a model, by name."""
    graph = to_onnx(model, **options)
    onnx.checker.check_model(graph, full_check=True)
    session = runtime.InferenceSession(graph.SerializeToString())
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"X": rows}), strict=True))


def assert_agrees(model, rows, rtol=1e-6, **options):
    """The graph says of rows what the model says; returns what it says."""
    found = run(model, rows, **options)
    near = {"rtol": rtol, "atol": 0.0}
    coordinates = model.transform(rows)
    # A coordinate next to zero is what is left of larger numbers.
    size = np.max(np.abs(coordinates), axis=1, initial=0.0)[:, None]
    size = np.where(size > 0, size, 1.0)
    np.testing.assert_allclose(found["coordinates"] / size, coordinates / size, rtol=0, atol=rtol)
    score, orthogonal = model.distances(rows)
    np.testing.assert_allclose(found["score_distance"], score, **near)
    # Of a long row next to the subspace the residual is rounding in part.
    near_each = {"rtol": rtol, "atol": 4 * np.finfo(np.float64).eps * size[:, 0]}
    there = found["orthogonal_distance"]
    assert np.isclose(there, orthogonal, equal_nan=True, **near_each).all()
    np.testing.assert_allclose(found["times_limit"], -model.score_samples(rows), **near)
    assert found["label"].dtype == np.int64
    np.testing.assert_array_equal(found["label"], model.predict(rows))
    np.testing.assert_array_equal(np.array(ROW_TYPES)[found["row_type"]], model.outlier_types(rows))
    return found


def assert_agrees_without_rest(model, rows, rtol=1e-6):
    """The same of a model with as many components as features; returns what the graph says."""
    found, (score, orthogonal) = run(model, rows), model.distances(rows)
    coordinates = model.transform(rows)
    size = np.max(np.abs(coordinates), axis=1)[:, None]
    np.testing.assert_allclose(found["coordinates"] / size, coordinates / size, rtol=0, atol=rtol)
    np.testing.assert_allclose(found["score_distance"], score, rtol=rtol)
    # No direction is left: orthogonal distances are rounding, of which no digit is like another's.
    size = np.linalg.norm(np.nan_to_num(rows), axis=1)
    np.testing.assert_allclose(found["orthogonal_distance"] / size, orthogonal / size, atol=1e-12)
    np.testing.assert_allclose(found["times_limit"], -model.score_samples(rows), rtol=rtol)
    np.testing.assert_array_equal(found["label"], model.predict(rows))
    np.testing.assert_array_equal(np.array(ROW_TYPES)[found["row_type"]], model.outlier_types(rows))
    return found


@pytest.fixture(scope="module")
def later():
    """Rows of the kind that the models are fitted to, all kinds of outliers among them."""
    rng = np.random.default_rng(1)
    made = make_outlier_subspace(600, 12, 3, 0.3, noise=0.01, mean=0.5, random_state=0)
    rows, V = made.X[300:].copy(), made.basis
    rows[:60] += rng.standard_normal((60, 12)) * np.geomspace(1e-3, 10, 60)[:, None]
    rows[60:90] += (rng.standard_normal((30, 3)) * np.geomspace(0.1, 100, 30)[:, None]) @ V.T
    return rows * UNITS


def with_holes(rows, share, seed=0):
    holed = rows.copy()
    holed[np.random.default_rng(seed).random(rows.shape) < share] = np.nan
    return holed


# ---- complete rows ------------------------------------------------------------------------------


def test_all_options(model, later):
    found = assert_agrees(model, later)
    assert set(found["row_type"]) == {0, 1, 2, 3}
    assert set(found["label"]) == {-1, 1}


@UNSURE
@pytest.mark.parametrize("k", [1, 2, 4, 7, 11])
def test_number_of_components(X, later, k):
    model = OutlierRobustPCA(k).fit(X)
    found = assert_agrees(model, later)
    assert found["coordinates"].shape == (300, k)


@UNSURE
def test_as_many_components_as_features(X, later):
    found = assert_agrees_without_rest(OutlierRobustPCA(12).fit(X), later)
    assert found["coordinates"].shape == (300, 12)


@UNSURE
def test_no_component_and_limits_of_zero():
    X, bad = coinciding_rows()
    model = OutlierRobustPCA().fit(X)
    assert model.n_components_ == 0
    assert model.cutoffs_ == {"score": 0.0, "orthogonal": 0.0}
    rows = np.vstack([X, 2 * X[bad], with_holes(2 * X[bad], 0.3), np.full((1, 6), 1e-200)])
    found = assert_agrees(model, rows)
    assert found["coordinates"].shape == (len(rows), 0)
    assert (found["label"][bad] == -1).all()
    assert found["times_limit"].max() == np.finfo(np.float64).max


def test_rows_without_noise():
    made = make_outlier_subspace(400, 8, 2, 0.2, mean=3.0, random_state=0)
    model = OutlierRobustPCA(2).fit(made.X[:200])
    assert model.route_ == "exact" or model.cutoffs_["orthogonal"] < 1e-10
    found, rows = run(model, made.X), made.X
    # Orthogonal distances of good rows are rounding, of which no digit is like another's.
    np.testing.assert_array_equal(found["label"], model.predict(rows))
    np.testing.assert_allclose(found["coordinates"], model.transform(rows), atol=1e-9)
    np.testing.assert_allclose(found["score_distance"], model.distances(rows).score, rtol=1e-6)
    off = model.distances(rows).orthogonal
    np.testing.assert_allclose(found["orthogonal_distance"], off, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("unit", [1e-305, 1e-200, 1e-120, 1e-7, 1e9, 1e120, 1e200, 1e300])
@some("plain", "scaled")
def test_huge_and_tiny_units(X, later, unit, options):
    model = OutlierRobustPCA(3, **options).fit(X * unit)
    assert_agrees(model, later * unit)


@some("plain", "scaled", "not centred")
@pytest.mark.parametrize("n", [300, 12_000])
def test_rows_far_beyond_the_unit_of_the_model(X, n, options):
    rows = np.tile(X, (n // 300, 1))
    rows = rows + 1e-6 * np.random.default_rng(0).standard_normal(rows.shape)
    model = OutlierRobustPCA(**{"n_components": 3, **options}).fit(rows)
    direction = np.random.default_rng(0).standard_normal((6, 12))
    far = direction * np.array([1e90, 1e110, 1e150, 1e200, 1e300, 1e306])[:, None]
    found = assert_agrees(model, far)
    assert (found["label"] == -1).all()


def test_rounding_is_no_distance_from_the_subspace(fitted):
    # So far out inside it, rounding alone is a hundred times the limit.
    off = np.linalg.svd(fitted.components_)[2][-1]
    rows = 1e15 * fitted.components_[:1] + np.geomspace(1e-3, 1e15, 13)[:, None] * off
    found = assert_agrees(fitted, rows)
    assert set(found["row_type"]) == {2, 3}


def test_a_far_mean():
    rows = make_outlier_subspace(600, 10, 3, 0.2, noise=0.1, random_state=0).X + 1e6
    for scale in (False, True):
        assert_agrees(OutlierRobustPCA(3, scale=scale).fit(rows[:300]), rows[300:])


def test_a_given_share_of_outliers(X, later):
    model = OutlierRobustPCA(3, contamination=0.05).fit(X)
    few = assert_agrees(model, later)["label"]
    model.set_contamination(0.4)
    many = assert_agrees(model, later)["label"]
    assert np.sum(few == -1) < np.sum(many == -1)


@some("plain", "scaled and whitened", "not centred")
def test_a_model_from_a_file(X, later, options, tmp_path):
    model = OutlierRobustPCA(**{"n_components": 3, **options}).fit(X)
    again = load_model(save_model(model, tmp_path / "model.npz"))
    assert to_onnx(again).SerializeToString() == to_onnx(model).SerializeToString()
    assert_agrees(again, with_holes(later, 0.1))


@pytest.mark.parametrize("kind", [TORP, NoisyTORP, GaussianTORP])
@pytest.mark.parametrize("center", [True, False])
def test_the_algorithms_of_the_paper(X, later, kind, center):
    assert_agrees(kind(3, center=center).fit(X), later)


def test_a_model_of_single_precision(X, later):
    model = OutlierRobustPCA(3, scale=True).fit(X.astype(np.float32))
    assert_agrees(model, with_holes(later, 0.1))


def test_one_row_and_none(fitted, later):
    session = runtime.InferenceSession(to_onnx(fitted).SerializeToString())
    whole = session.run(None, {"X": later})
    for i in (0, 60, 299):
        for one, all_of_them in zip(session.run(None, {"X": later[i : i + 1]}), whole, strict=True):
            np.testing.assert_allclose(one[0], all_of_them[i], rtol=1e-9)
    shapes = [output.shape for output in session.run(None, {"X": later[:0]})]
    assert shapes == [(0, 3), (0,), (0,), (0,), (0,), (0,)]


# ---- rows of the fit ----------------------------------------------------------------------------


def test_rows_of_the_fit_are_judged_like_new_ones():
    rng = np.random.default_rng(0)
    X, later = (rng.standard_normal((n, 30)) * np.r_[9.0, 7, 5, np.ones(27)] for n in (60, 2000))
    model = OutlierRobustPCA(3).fit(X)
    assert_agrees(model, np.vstack([X, later]))
    assert_agrees(model, X[::-1])


def test_a_graph_holds_nothing_of_single_rows(X):
    few = OutlierRobustPCA(3).fit(X)
    many = OutlierRobustPCA(3).fit(np.tile(X, (40, 1)) + 0.01 * np.arange(12))
    few, many = (len(to_onnx(model).SerializeToString()) for model in (few, many))
    assert few == many


# ---- rows that lack cells -----------------------------------------------------------------------


@some("plain", "scaled", "whitened", "not centred")
@pytest.mark.parametrize("share", [0.02, 0.4, 0.9])
def test_missing_cells(X, later, options, share):
    model = OutlierRobustPCA(**{"n_components": 3, **options}).fit(X)
    found = assert_agrees(model, with_holes(later, share))
    assert (found["row_type"] == ROW_TYPES.index("unknown")).any() == (share > 0.3)


@pytest.mark.slow
@UNSURE
@pytest.mark.parametrize("k", [1, 2, 8, 9, 11])
def test_missing_cells_with_more_components(X, later, k):
    model = OutlierRobustPCA(k).fit(with_holes(X, 0.05))
    assert_agrees(model, with_holes(later, 0.2))


@UNSURE
def test_missing_cells_with_as_many_components_as_features(X, later):
    model = OutlierRobustPCA(12).fit(with_holes(X, 0.05))
    # Without noise next to nothing keeps the equations from being singular.
    found = assert_agrees_without_rest(model, with_holes(later, 0.2), rtol=1e-4)
    assert (found["row_type"] == ROW_TYPES.index("unknown")).mean() > 0.8


def test_more_components_than_elimination_by_hand_has():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((1200, 60)) * np.r_[np.linspace(30, 9, 25), np.ones(35)]
    model = OutlierRobustPCA(25).fit(rows[:600])
    assert_agrees(model, with_holes(rows[600:], 0.15))


@pytest.mark.parametrize("unit", [1e-110, 1e-7, 1e9, 1e110])
def test_missing_cells_in_other_units(X, later, unit):
    model = OutlierRobustPCA(3).fit(with_holes(X, 0.1) * unit)
    assert_agrees(model, with_holes(later, 0.2) * unit)


def test_few_components_without_noise():
    made = make_outlier_subspace(400, 8, 2, 0.2, mean=3.0, random_state=0)
    model = OutlierRobustPCA(2).fit(made.X[:200])
    rows = with_holes(made.X, 0.2)
    found = run(model, rows)
    score = model.distances(rows).score
    np.testing.assert_array_equal(np.isnan(found["score_distance"]), np.isnan(score))
    np.testing.assert_array_equal(found["label"], model.predict(rows))


def test_numbers_that_stand_for_missing_values(X, later):
    model = OutlierRobustPCA(3, missing_values=[-999, 9999.5]).fit(X)
    rows = with_holes(later, 0.1)
    marked = rows.copy()
    marked[::2][np.isnan(rows[::2])] = -999
    marked[1::4][np.isnan(rows[1::4])] = 9999.5
    found, plain = assert_agrees(model, marked), run(model, rows)
    for name in found:
        np.testing.assert_array_equal(found[name], plain[name])


def test_a_row_of_too_few_cells_is_unknown_and_not_flagged(fitted, later):
    rows = later[:3].copy()
    rows[0, 3:], rows[1, 4:], rows[2] = np.nan, np.nan, np.nan
    found = assert_agrees(fitted, rows)
    assert found["row_type"].tolist()[::2] == [4, 4]
    assert found["label"].tolist()[::2] == [1, 1]
    assert np.isnan(found["score_distance"]).tolist() == [True, False, True]


def test_what_a_model_refuses_is_refused_and_flagged(X, fitted, later):
    rows = later[:4].copy()
    rows[1, 3], rows[2, :2] = np.inf, [np.nan, -np.inf]
    with pytest.raises(ValueError, match="infinity"):
        fitted.predict(rows)
    found = run(fitted, rows)
    assert [ROW_TYPES[kind] for kind in found["row_type"][1:3]] == ["refused"] * 2
    assert found["label"][1:3].tolist() == [-1, -1]
    for name in ("coordinates", "score_distance", "orthogonal_distance", "times_limit"):
        assert np.isnan(found[name][1:3]).all()
    others = run(fitted, rows[[0, 3]])
    for name in others:
        np.testing.assert_allclose(found[name][[0, 3]], others[name], rtol=1e-9)
    # The algorithms of the paper refuse NaN too.
    paper = TORP(3).fit(X)
    rows = later[:2].copy()
    rows[1, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        paper.predict(rows)
    assert run(paper, rows)["row_type"][1] == ROW_TYPES.index("refused")
    assert run(paper, rows)["label"][1] == -1


# ---- the file -----------------------------------------------------------------------------------


def test_operators_are_standard_ones(fitted):
    graph = to_onnx(fitted)
    assert [(o.domain, o.version) for o in graph.opset_import] == [("", 18)]
    assert {node.domain for node in graph.graph.node} == {""}
    assert graph.graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.DOUBLE


def test_another_runtime(fitted, later):
    from onnx.reference import ReferenceEvaluator

    rows = with_holes(later, 0.2)
    found = ReferenceEvaluator(to_onnx(fitted)).run(None, {"X": rows})
    for one, other in zip(found, run(fitted, rows).values(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_metadata(X, fitted):
    named = OutlierRobustPCA(3).fit(named_frame("pandas", X))
    words = {p.key: json.loads(p.value) for p in to_onnx(named).metadata_props}
    assert words["feature_names"] == [f"x{i}" for i in range(12)]
    assert words["row_types"] == list(ROW_TYPES)
    assert "feature_names" not in {p.key for p in to_onnx(fitted).metadata_props}


def test_a_file_is_there_whole_or_not_at_all(fitted, tmp_path):
    path = tmp_path / "model.onnx"
    made = to_onnx(fitted, path)
    assert path.read_bytes() == made.SerializeToString()
    with pytest.raises(FileExistsError, match="already exists"):
        to_onnx(fitted, path, force=False)
    with pytest.raises(OSError, match="no such folder"):
        to_onnx(fitted, tmp_path / "nowhere" / "model.onnx")
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.onnx"]


def test_what_cannot_be_exported(X):
    with pytest.raises(ValueError, match="not fitted"):
        to_onnx(OutlierRobustPCA())
    with pytest.raises(TypeError, match="got list"):
        to_onnx([1.0])
    with pytest.raises(ValueError, match="Fit with cells=False"):
        to_onnx(OutlierRobustPCA(3, cells=True).fit(X))
    large = OutlierRobustPCA(3).fit(X)
    large._basis = np.broadcast_to(0.0, (2**14, 2**14))
    with pytest.raises(ValueError, match="Fit fewer components"):
        to_onnx(large)


def test_without_the_package(fitted, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r'pip install "torpca\[onnx\]"'):
        to_onnx(fitted)


# ---- the command line ---------------------------------------------------------------------------


@pytest.fixture
def command():
    testing = pytest.importorskip("click.testing")
    pytest.importorskip("rich")
    from torpca._cli.app import torpca

    return lambda *words: testing.CliRunner().invoke(torpca, ["onnx", *map(str, words)])


def test_the_command(command, fitted, later, tmp_path):
    save_model(fitted, tmp_path / "model.npz")
    out = tmp_path / "model.onnx"
    assert command(tmp_path, out).output == f"ONNX: {out}\n"
    session = runtime.InferenceSession(out.read_bytes())
    label = session.run(["label"], {"X": later})[0]
    np.testing.assert_array_equal(label, fitted.predict(later))

    before = out.read_bytes()
    again = command(tmp_path / "model.npz", out)
    assert again.exit_code == 1
    assert "--force" in again.output
    assert out.read_bytes() == before
    done = command(tmp_path / "model.npz", out, "--force", "--json")
    assert json.loads(done.output) == {"onnx": str(out)}
    assert out.read_bytes() == to_onnx(fitted).SerializeToString()


def test_the_command_with_wrong_files(command, fitted, tmp_path):
    save_model(fitted, tmp_path / "model.npz")
    for words, said in [
        (("model.npz", "model.npz"), "must end in .onnx"),
        (("none.npz", "out.onnx"), "could not read the model"),
    ]:
        done = command(*(tmp_path / word for word in words))
        assert done.exit_code == 1
        assert said in done.output
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.npz"]
