"""What all pictures share: axes, files, pipelines, kinds of rows, matplotlib."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests import _plots
from tests._plots import DISPLAYS, drawn, plt
from torpca import OutlierRobustPCA
from torpca.plots import ContributionsDisplay, OutlierMapDisplay, ScoresDisplay, ScreeDisplay

# Fixtures: pytest looks for them by these names.
_close_figures = _plots._close_figures
rows = _plots.rows
model = _plots.model
frame = _plots.frame


@pytest.mark.parametrize("display", DISPLAYS)
def test_a_display_draws_where_it_is_told_and_again_elsewhere(display, model, rows):
    figure, (left, right) = plt.subplots(1, 2)
    shown = display.from_estimator(model, rows[0], ax=left)
    assert shown.ax_ is left
    assert shown.figure_ is figure
    assert not right.has_data()
    again = shown.plot(right)
    assert again is shown
    assert shown.ax_ is right
    assert right.has_data()
    new = shown.plot()
    assert new.figure_ is not figure


@pytest.mark.slow
@pytest.mark.parametrize("display", DISPLAYS)
def test_every_picture_can_be_saved(display, model, rows, tmp_path):
    shown = display.from_estimator(model, rows[0])
    for kind in ("png", "pdf", "svg"):
        shown.figure_.savefig(tmp_path / f"picture.{kind}")
        assert (tmp_path / f"picture.{kind}").stat().st_size > 1000


def test_pipelines_are_looked_into(frame):
    pipe = make_pipeline(StandardScaler(), OutlierRobustPCA()).fit(frame)
    model = pipe[-1]
    Z = pipe[:-1].transform(frame)
    display = OutlierMapDisplay.from_estimator(pipe, frame, n_labels=1)
    np.testing.assert_allclose(display.score_distances, model.distances(Z).score)
    assert display.row_labels_[0].get_text() == f"s{np.argmin(model.score_samples(Z))}"
    bars = ContributionsDisplay.from_estimator(pipe, frame, rows="s3")
    assert list(bars.names) == list(frame.columns)
    ScoresDisplay.from_estimator(pipe, frame, plain=True)
    ScreeDisplay.from_estimator(pipe)


@pytest.mark.parametrize("kind", ["sparse", "dask", "torch", "polars", "float32"])
def test_rows_of_other_kinds(kind, rows):
    X = np.array(rows[0])
    if kind == "sparse":
        from scipy.sparse import csr_array

        X = csr_array(X)
    elif kind == "dask":
        X = pytest.importorskip("dask.array").from_array(X, chunks=(100, 8))
    elif kind == "torch":
        X = pytest.importorskip("torch").asarray(X)
    elif kind == "polars":
        X = pytest.importorskip("polars").DataFrame(X, schema=[f"f{j}" for j in range(8)])
    else:
        X = X.astype(np.float32)
    fitted = OutlierRobustPCA(3).fit(X)
    expected = np.asarray(fitted.distances(X).score)
    display = OutlierMapDisplay.from_estimator(fitted, X)
    np.testing.assert_allclose(display.score_distances, expected, rtol=1e-6)
    assert len(drawn(ScoresDisplay.from_estimator(fitted, X, plain=True).points_)) == 400
    bars = ContributionsDisplay.from_estimator(fitted, X, rows=rows[1], distance="orthogonal")
    assert bars.names[bars.features_[0]] == ("f4" if kind == "polars" else "x4")
    ScreeDisplay.from_estimator(fitted, X, plain=True)


def test_matplotlib_is_imported_only_to_draw_and_its_absence_is_told():
    code = (
        "import sys; sys.path[:] = sys.argv[1].split('|'); import torpca.plots as plots; "
        "print('matplotlib' in sys.modules); sys.modules['matplotlib'] = None\n"
        "try: plots.ScreeDisplay.from_predictions([0.9, 0.1], rank=1)\n"
        "except ImportError as error: print(error)"
    )
    command = [sys.executable, "-c", code, "|".join(sys.path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "False",
        'Plots need matplotlib, which is not installed: pip install "torpca[plot]".',
    ]
