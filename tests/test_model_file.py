"""Models as files: what comes back is what went in, and nothing else is let in."""

import errno
import json
import pickle
import re
import zipfile
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from tests._shared import coinciding_rows, named_frame
from torpca import TORP, OutlierRobustPCA, __version__
from torpca._atomic import OutputError
from torpca._model_file import VERSION, ModelFileError, load_model, save_model
from torpca.datasets import make_outlier_subspace

DOCS = Path(__file__).parents[1] / "docs" / "model_file.md"
# One file of each old version, as the torpca of that time wrote it.
OLD = Path(__file__).with_name("models")
METHODS = ["transform", "predict", "outlier_types", "score_samples", "decision_function"]


@pytest.fixture(scope="module")
def new_rows():
    # Good rows, bad rows, and rows like no other.
    rng = np.random.default_rng(5)
    more = make_outlier_subspace(60, 12, 3, 0.3, noise=0.01, mean=0.5, random_state=1).X
    return np.vstack([more, 100 * rng.standard_normal((5, 12)), np.zeros((1, 12))])


@pytest.fixture
def path(tmp_path, fitted):
    return save_model(fitted, tmp_path / "model.npz")


def assert_judges_alike(again, model, rows):
    for method in METHODS:
        np.testing.assert_array_equal(getattr(again, method)(rows), getattr(model, method)(rows))
    for method in ("distances", "contributions"):
        for ours, theirs in zip(
            getattr(again, method)(rows), getattr(model, method)(rows), strict=True
        ):
            np.testing.assert_array_equal(ours, theirs)
    coordinates = model.transform(rows)
    for ours, theirs in [
        (again.inverse_transform(coordinates), model.inverse_transform(coordinates)),
        (again.get_covariance(), model.get_covariance()),
        (again.to_sklearn().transform(rows), model.to_sklearn().transform(rows)),
    ]:
        np.testing.assert_array_equal(ours, theirs)
    assert again.score(rows) == model.score(rows)


def assert_same_attributes(again, model):
    for name in ("components_", "mean_", "explained_variance_", "explained_variance_ratio_"):
        ours, theirs = getattr(again, name), getattr(model, name)
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(again.singular_values_, model.singular_values_)
    np.testing.assert_array_equal(again.scale_, model.scale_)
    for name in ("n_components_", "n_samples_", "n_features_in_", "n_iter_", "converged_"):
        assert getattr(again, name) == getattr(model, name)
    for name in ("cutoffs_", "offset_", "noise_variance_", "history_"):
        assert getattr(again, name) == getattr(model, name)
    np.testing.assert_array_equal(again.rank_.variances, model.rank_.variances)
    for name in ("rank", "rule", "gap", "explained"):
        assert getattr(again.rank_, name) == getattr(model.rank_, name)
    assert again.get_params() == model.get_params()


def there_and_back(model, tmp_path):
    return load_model(save_model(model, tmp_path / "model.npz"))


# ---- what comes back ----------------------------------------------------------------------------


def test_new_rows_are_judged_to_the_last_digit_alike(model, new_rows, tmp_path):
    again = there_and_back(model, tmp_path)
    assert type(again) is OutlierRobustPCA
    assert_judges_alike(again, model, new_rows)
    assert_same_attributes(again, model)


@pytest.mark.parametrize(
    ("n", "d", "parameters"),
    [
        (60, 400, {"n_components": 2}),
        (30_000, 8, {"n_components": 0.9}),
        (200, 1, {"n_components": 1}),
        (300, 12, {"n_components": np.int64(2), "contamination": 0.07, "random_state": None}),
    ],
)
def test_tables_of_many_shapes(n, d, parameters, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, min(2, d))) @ rng.standard_normal((min(2, d), d))
    X += 5 + 0.1 * rng.standard_normal((n, d))
    X[:7] += 30 * rng.standard_normal((7, d))
    model = OutlierRobustPCA(**parameters).fit(X)
    again = there_and_back(model, tmp_path)
    assert_judges_alike(again, model, X[:50])
    assert_same_attributes(again, model)


def test_float32_stays_float32(X, new_rows, tmp_path):
    model = OutlierRobustPCA(3, scale=True).fit(X.astype(np.float32))
    again = there_and_back(model, tmp_path)
    assert again.components_.dtype == again.scale_.dtype == np.float32
    assert_judges_alike(again, model, new_rows.astype(np.float32))
    assert_same_attributes(again, model)


def test_rows_that_coincide(tmp_path):
    rows, _ = coinciding_rows()
    with pytest.warns(RuntimeWarning, match="are all equal"):
        model = OutlierRobustPCA(1).fit(rows)
    again = there_and_back(model, tmp_path)
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    assert_same_attributes(again, model)


def test_rows_so_long_that_their_variance_is_infinite(X, tmp_path):
    model = OutlierRobustPCA(3).fit(1e200 * X)
    assert np.isinf(model.explained_variance_).all()
    again = there_and_back(model, tmp_path)
    np.testing.assert_array_equal(again.predict(1e200 * X), model.predict(1e200 * X))
    assert_same_attributes(again, model)


def test_names_of_features(X, tmp_path):
    frame = named_frame("pandas", X).rename(columns={"x0": "=1+1", "x1": "größe\n\u20ac"})
    again = there_and_back(OutlierRobustPCA(3).fit(frame), tmp_path)
    assert list(again.feature_names_in_) == list(frame.columns)
    again.predict(frame)
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame.rename(columns={"x2": "another"}))


def test_no_names_where_there_were_none(path):
    assert not hasattr(load_model(path), "feature_names_in_")


def test_a_generator_is_not_stored(X, tmp_path):
    model = OutlierRobustPCA(3, random_state=np.random.default_rng(0)).fit(X)
    assert there_and_back(model, tmp_path).random_state is None


def test_what_was_known_of_training_rows_is_not_there_and_says_so(path, X):
    model = load_model(path)
    for name in ("support_", "weights_", "score_distances_", "orthogonal_distances_", "start_"):
        assert not hasattr(model, name)
    with pytest.raises(AttributeError, match=r"loaded from a file.*outlier_types"):
        _ = model.outlier_type_
    with pytest.raises(AttributeError, match="loaded from a file"):
        model.set_contamination(0.1)
    assert (model.contamination, model.offset_) == ("auto", -1.0)  # as it was
    assert "Rows flagged" not in model._repr_html_()


def test_a_loaded_model_can_be_copied_fitted_and_saved_again(path, X, fitted, new_rows, tmp_path):
    model = load_model(path)
    assert_judges_alike(pickle.loads(pickle.dumps(model)), fitted, new_rows)
    second = save_model(model, tmp_path / "second.npz")
    assert second.read_bytes() == path.read_bytes()
    np.testing.assert_array_equal(clone(model).fit(X).outlier_type_, fitted.outlier_type_)
    np.testing.assert_array_equal(model.fit(X).outlier_type_, fitted.outlier_type_)


# ---- what is in the file ------------------------------------------------------------------------


def test_the_file_is_plain_arrays_and_json(path, fitted):
    with np.load(path, allow_pickle=False) as arrays:
        assert all(not arrays[name].dtype.hasobject for name in arrays.files)
        header = json.loads(arrays["header"].tobytes())
        np.testing.assert_array_equal(arrays["basis"].T, fitted.components_)
    assert header["format"] == "torpca model"
    assert header["format_version"] == VERSION
    assert header["torpca_version"] == __version__
    assert header["parameters"] == fitted.get_params()
    assert header["cutoffs"] == fitted.cutoffs_


def test_the_same_model_gives_the_same_bytes(path, fitted, tmp_path):
    assert save_model(fitted, tmp_path / "again.npz").read_bytes() == path.read_bytes()


def test_the_size_does_not_depend_on_the_number_of_many_rows(path, tmp_path):
    # 12 features, 3 components, a header, and one number for each of few rows.
    assert path.stat().st_size < 8000
    rng = np.random.default_rng(0)
    X = rng.standard_normal((24_000, 12)) * np.where(np.arange(12) < 3, 10, 1)
    for n in (12_000, 24_000):
        many = save_model(OutlierRobustPCA(3).fit(X[:n]), tmp_path / "many.npz")
        assert many.stat().st_size < 6000


def test_the_documentation_names_all_there_is(tmp_path, X):
    path = save_model(OutlierRobustPCA(3, scale=True).fit(X), tmp_path / "model.npz")
    described = set(re.findall(r"^\| `(\w+)` ", DOCS.read_text(), flags=re.MULTILINE))
    with np.load(path) as arrays:
        there = {*arrays.files, *json.loads(arrays["header"].tobytes())}
    assert described == there


def test_the_documentation_reads_a_file_without_torpca(path, fitted, new_rows, monkeypatch):
    monkeypatch.chdir(path.parent)
    [code] = re.findall(r"^```python\n(.*?)^```", DOCS.read_text(), flags=re.DOTALL | re.MULTILINE)
    scope = {"X": new_rows}
    exec(compile(code, DOCS.name, "exec"), scope)
    assert "torpca" not in code.replace('"torpca model"', "")
    np.testing.assert_allclose(scope["scores"], fitted.transform(new_rows), atol=1e-12)
    np.testing.assert_array_equal(scope["bad"], fitted.predict(new_rows) == -1)


# ---- old files ----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(1, VERSION))
def test_files_of_old_versions_still_load(version, tmp_path):
    path = OLD / f"version-{version}.npz"
    with np.load(path) as file:
        header = json.loads(file["header"].tobytes())
        mean, V, deviations = file["mean"], file["basis"], file["deviations"]
    assert header["format_version"] == version
    # The rows they were fitted to, and others.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 4))
    X += 0.01 * rng.standard_normal((40, 4)) + 1
    X[:4] += rng.standard_normal((4, 4))
    rows = np.vstack([X, X[4:] + 1e-3 * rng.standard_normal((36, 4))])

    model = load_model(path)
    scores = (rows - mean) @ V
    score, orthogonal = model.distances(rows)[:2]
    np.testing.assert_allclose(score, np.linalg.norm(scores / deviations, axis=1))
    residuals = rows - mean - scores @ V.T
    np.testing.assert_allclose(orthogonal, np.linalg.norm(residuals, axis=1), atol=1e-12)
    limits, new = header["cutoffs"], header.get("new_rows")
    if new is not None:  # it had others for rows of the fit
        n, k = new["n"], V.shape[1]
        off = new["orthogonal"] * np.sqrt(1 + 1 / n + k / (n - 1))
        limits = {"score": new["score"], "orthogonal": pytest.approx(off)}
    assert model.cutoffs_ == limits
    assert np.flatnonzero(model.predict(rows) == -1).tolist() == [0, 1, 2, 3]
    rows[0, 0] = np.nan
    assert model.predict(rows)[1:4].tolist() == [-1, -1, -1]
    # It is one of the new version once it is saved again, and says the same.
    again = there_and_back(model, tmp_path)
    assert_same_attributes(again, model)
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))


def test_labels_by_a_share_of_the_rows_stay_in_files_of_version_4(tmp_path):
    # They were counted in the limits of the rows of the fit.
    path = tmp_path / "model.npz"
    path.write_bytes((OLD / "version-4.npz").read_bytes())

    def by_share(header, arrays):
        header["parameters"]["contamination"], header["offset"] = 0.2, -1.5

    rewrite(path, by_share)
    with np.load(path) as file:
        header = json.loads(file["header"].tobytes())
    model = load_model(path)
    assert (model.cutoffs_, model.offset_) == (header["cutoffs"], -1.5)


def test_files_from_before_there_was_a_choice_of_limits(path, fitted, new_rows):
    rewrite(path, lambda header, arrays: header["parameters"].pop("limit"))
    assert_judges_alike(load_model(path), fitted, new_rows)


def test_how_many_rows_were_flagged_is_stored(fitted, X, tmp_path):
    again = load_model(save_model(fitted, tmp_path / "b.npz"))
    kinds, counts = np.unique(fitted.outlier_type_, return_counts=True)
    assert again._types_at_fit() == dict(zip(kinds, counts, strict=True))
    assert save_model(again, tmp_path / "c.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    assert sum(again.fit(X[:100])._types_at_fit().values()) == 100


def test_files_from_before_rows_were_counted(path):
    rewrite(path, lambda header, arrays: header.pop("rows_by_type"))
    assert load_model(path)._types_at_fit() is None


@pytest.mark.parametrize("counts", [[1, 2], {"regular": -1}, {"regular": "many"}, {"regular": 1.5}])
def test_counts_that_are_none(fitted, path, counts):
    rewrite(path, lambda header, arrays: header.update(rows_by_type=counts))
    with pytest.raises(ModelFileError, match="its contents are wrong"):
        load_model(path)


# ---- what is refused ----------------------------------------------------------------------------


def parts(path):
    with np.load(path) as arrays:
        return {name: arrays[name] for name in arrays.files}


def rewrite(path, change, *, save=np.savez):
    """Save the arrays after `change`."""
    arrays = parts(path)
    header = json.loads(arrays["header"].tobytes())
    change(header, arrays)
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    save(path, **arrays)


def test_nothing_else_is_refused(path, fitted, new_rows):
    # The tools of the tests below do not by themselves make a file bad.
    rewrite(path, lambda header, arrays: None)
    assert_judges_alike(load_model(path), fitted, new_rows)


def test_a_file_cut_short_anywhere_is_refused(path):
    whole = path.read_bytes()
    for length in range(0, len(whole), 37):
        path.write_bytes(whole[:length])
        with pytest.raises(ModelFileError):
            load_model(path)


def test_a_changed_byte_is_refused_or_of_no_account(path, fitted, new_rows):
    whole = path.read_bytes()
    refused = 0
    places = range(0, len(whole), 5)
    for place in places:
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x41]) + whole[place + 1 :])
        try:
            again = load_model(path)
        except ModelFileError:
            refused += 1
        else:  # a date or a flag of the archive
            np.testing.assert_array_equal(again.distances(new_rows), fitted.distances(new_rows))
            assert_same_attributes(again, fitted)
    assert refused > 0.7 * len(places)


def test_a_newer_version_is_refused_with_the_version_it_needs(path):
    rewrite(path, lambda h, a: h.update(format_version=VERSION + 1, torpca_version="7.3.1"))
    with pytest.raises(ModelFileError) as caught:
        load_model(path)
    said = str(caught.value)
    assert f"format version {VERSION + 1}" in said
    assert "Install torpca 7.3.1" in said
    assert "\n" not in said


@pytest.mark.parametrize("version", [0, -1, "1", 1.0, None, True])
def test_versions_are_numbers(version, path):
    rewrite(path, lambda h, a: h.update(format_version=version))
    with pytest.raises(ModelFileError, match="versions are whole numbers from 1"):
        load_model(path)


FORGERIES = {
    "no such parameter": lambda h, a: h["parameters"].update(surprise=1),
    "a parameter less": lambda h, a: h["parameters"].pop("scale"),
    "a bad parameter": lambda h, a: h["parameters"].update(trim=7),
    "no parameters": lambda h, a: h.update(parameters=3),
    "a wrong size": lambda h, a: h.update(n_components=2),
    "a size that is text": lambda h, a: h.update(n_features="12"),
    "no history": lambda h, a: h.pop("history"),
    "a limit that is text": lambda h, a: h["cutoffs"].update(score="far"),
    "a limit that is true": lambda h, a: h["cutoffs"].update(score=True),
    "too few names": lambda h, a: h.update(feature_names=["x"]),
    "names that are numbers": lambda h, a: h.update(feature_names=list(range(12))),
    "a type of numbers": lambda h, a: h.update(dtype="object"),
    "not a number": lambda h, a: a["mean"].__setitem__(0, np.nan),
    "infinite": lambda h, a: a["basis"].__setitem__((0, 0), np.inf),
    "negative": lambda h, a: a["deviations"].__setitem__(0, -1.0),
    "whole numbers": lambda h, a: a.update(mean=np.zeros(12, dtype=int)),
    "a shape": lambda h, a: a.update(mean=a["mean"][:, None]),
    "rows behind the fit": lambda h, a: h.update(n_good="many"),
    "too little freedom": lambda h, a: h.update(freedom=0.5),
    "an array more": lambda h, a: a.update(extra=np.zeros(1)),
    "an array less": lambda h, a: a.pop("basis"),
}


@pytest.mark.parametrize("change", FORGERIES.values(), ids=FORGERIES)
def test_contents_that_make_no_model_are_refused(change, path):
    rewrite(path, change)
    with pytest.raises(ModelFileError, match=r"its contents are wrong: .*save_model"):
        load_model(path)


class Trap:
    """Leaves a mark when it is unpickled."""

    sprung = False

    def __reduce__(self):
        return (setattr, (Trap, "sprung", True))


@pytest.mark.parametrize("name", ["header", "basis", "other"])
def test_pickles_are_never_opened(name, path):
    rewrite(path, lambda header, arrays: None)
    arrays = parts(path)
    arrays[name] = np.array([Trap()], dtype=object)
    np.savez(path, **arrays)
    with pytest.raises(ModelFileError):
        load_model(path)
    assert not Trap.sprung
    pickle.loads(pickle.dumps(Trap()))
    assert Trap.sprung  # so it would have been seen
    Trap.sprung = False


def other_files():
    pickled = pickle.dumps({"a": 1})
    archive, array, arrays = BytesIO(), BytesIO(), BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("readme.txt", "hello")
    np.save(array, np.eye(2))
    np.savez(arrays, X=np.eye(2))
    contents = {"empty": b"", "text": b"a,b\n1,2\n", "pickle": pickled, "PK": b"PK"}
    contents["another archive"] = archive.getvalue()
    contents["npy"], contents["npz of other arrays"] = array.getvalue(), arrays.getvalue()
    return contents


@pytest.mark.parametrize("contents", other_files().values(), ids=other_files())
def test_other_files_are_refused(contents, tmp_path):
    path = tmp_path / "model.npz"
    path.write_bytes(contents)
    with pytest.raises(ModelFileError, match=r"model\.npz is .*(save_model|save the model)"):
        load_model(path)


def test_a_compressed_file_is_refused(path):
    # A few bytes of it could ask for all of the memory.
    rewrite(path, lambda header, arrays: None, save=np.savez_compressed)
    with pytest.raises(ModelFileError, match="compressed"):
        load_model(path)


def test_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"could not read the model .*nowhere.*model\.npz"):
        load_model(tmp_path / "nowhere.npz")
    with pytest.raises(IsADirectoryError, match="could not read the model"):
        load_model(tmp_path)


# ---- saving -------------------------------------------------------------------------------------


def test_only_fitted_models_of_this_kind_are_saved(tmp_path, X):
    with pytest.raises(NotFittedError):
        save_model(OutlierRobustPCA(), tmp_path / "model.npz")
    with pytest.raises(TypeError, match="got TORP"):
        save_model(TORP(2, rho=0.3).fit(X), tmp_path / "model.npz")
    assert not list(tmp_path.iterdir())


def test_a_failed_save_leaves_the_old_file(path, fitted, monkeypatch):
    before = path.read_bytes()

    def half(file, **arrays):
        file.write(b"PK half of a file")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(np, "savez", half)
    with pytest.raises(OutputError, match="the disk is full"):
        save_model(fitted, path)
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_an_old_file_is_kept_if_asked(path, fitted):
    with pytest.raises(FileExistsError, match="already exists"):
        save_model(fitted, path, force=False)
    save_model(fitted, path)
