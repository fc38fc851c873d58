"""Pictures of what cannot be drawn: refused, with a message that helps."""

import re

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError

from tests import _plots
from tests._plots import DISPLAYS, plt
from torpca import OutlierRobustPCA
from torpca.plots import (
    CellMapDisplay,
    ContributionsDisplay,
    OutlierMapDisplay,
    ScoresDisplay,
    ScreeDisplay,
)

# Fixtures: pytest looks for them by these names.
_close_figures = _plots._close_figures
rows = _plots.rows
model = _plots.model
frame = _plots.frame


@pytest.mark.parametrize("display", DISPLAYS)
def test_an_estimator_that_is_not_fitted_is_refused(display, rows):
    with pytest.raises(NotFittedError, match=r"OutlierRobustPCA is not fitted, so call fit\(X\)"):
        display.from_estimator(OutlierRobustPCA(), rows[0])


@pytest.mark.parametrize(
    "display", [OutlierMapDisplay, ScoresDisplay, ContributionsDisplay, CellMapDisplay]
)
def test_rows_with_other_features_are_refused(display, model, rows):
    with pytest.raises(ValueError, match="X has 5 features, but OutlierRobustPCA is expecting 8"):
        display.from_estimator(model, rows[0][:, :5])
    with pytest.raises(ValueError, match="X has 5 features"):
        ScreeDisplay.from_estimator(model, rows[0][:, :5], plain=True)


@pytest.mark.parametrize("display", DISPLAYS)
def test_other_estimators_are_refused(display, rows):
    with pytest.raises(TypeError, match="PCA is no estimator of torpca: give a fitted Outlier"):
        display.from_estimator(PCA(2).fit(rows[0]), rows[0])


@pytest.mark.parametrize("components", [(0, 1), (1, 4), (1, 2, 3), 2, ("a", "b"), ()])
def test_unknown_components_are_refused(components, model, rows):
    with pytest.raises(ValueError, match=r"counted from 1, and there are 1 to 3\.$"):
        ScoresDisplay.from_estimator(model, rows[0], components=components)


MAP = {"cutoffs": {"score": 1.0, "orthogonal": 1.0}}
SCORES = {"types": ["regular"] * 2, "deviations": [1.0, 1.0], "limit": 3.0}
Y = np.zeros((2, 2))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: OutlierMapDisplay.from_predictions([1], [1, 2], **MAP), "has 2 entries, but"),
        (lambda: OutlierMapDisplay.from_predictions([np.nan], [1], **MAP), "not finite"),
        (lambda: OutlierMapDisplay.from_predictions([[1]], [1], **MAP), "1 dimension"),
        (lambda: OutlierMapDisplay.from_predictions([1], [1], cutoffs={}), "'score' and 'orth"),
        (lambda: OutlierMapDisplay.from_predictions([1], [1], types=["x"], **MAP), "types has 'x'"),
        (lambda: OutlierMapDisplay.from_predictions([1], [1], ids=[], **MAP), "ids has 0"),
        (lambda: OutlierMapDisplay.from_predictions([1], [1], scale="x", **MAP), "scale='x' must"),
        (lambda: OutlierMapDisplay.from_predictions([1], [1], max_regular=-1, **MAP), "0 or more"),
        (lambda: ScreeDisplay.from_predictions([1.0], rank=2), "rank=2 must be between 0 and 1"),
        (lambda: ScreeDisplay.from_predictions([1.0], rank=1, n_directions=0), "1 or more"),
        (lambda: ScreeDisplay.from_predictions([1.0], rank=1, scale="x"), "scale='x' must"),
        (lambda: ScoresDisplay.from_predictions(Y, components=(1,), **SCORES), "two numbers"),
        (lambda: ScoresDisplay.from_predictions(Y, components=(1, 3), **SCORES), "1 to 2"),
        (lambda: ScoresDisplay.from_predictions(np.zeros((2, 3)), **SCORES), "deviations has 2"),
        (lambda: ScoresDisplay.from_predictions(Y, scale="log", **SCORES), "scale='log' must"),
        (
            lambda: ScoresDisplay.from_predictions(Y, plain_scores=Y, ax=plt.gca(), **SCORES),
            "must be two axes",
        ),
        (lambda: ContributionsDisplay.from_predictions(np.ones((9, 2))), "shows 1 to 8"),
        (lambda: ContributionsDisplay.from_predictions([1, 2], feature_names="abc"), "3 names"),
        (lambda: CellMapDisplay.from_predictions([1, 2]), "must have rows and columns"),
        (lambda: CellMapDisplay.from_predictions(Y, flagged=[1, -1]), "True or False for each"),
        (lambda: CellMapDisplay.from_predictions(Y, flagged=[True]), "flagged has 1 entries"),
        (lambda: CellMapDisplay.from_predictions(Y, ids=[]), "ids has 0"),
        (lambda: CellMapDisplay.from_predictions(Y, feature_names="abc"), "3 names"),
        (lambda: CellMapDisplay.from_predictions(Y, max_rows=0), "max_rows=0 must be 1 or more"),
        (lambda: CellMapDisplay.from_predictions(Y, max_columns=0), "1 or more"),
        (lambda: ContributionsDisplay.from_predictions([1, 2], n_features=0), "1 or more"),
    ],
)
def test_bad_input_is_told_in_one_sentence(call, words):
    with pytest.raises(ValueError, match=re.escape(words)) as raised:
        call()
    message = str(raised.value)
    assert message.endswith(".")
    assert message.count(". ") == 0


def test_bad_input_beside_an_estimator(model, rows, frame):
    X = rows[0]
    with pytest.raises(ValueError, match="X is None: give the rows"):
        ScreeDisplay.from_estimator(model, plain=True)
    with pytest.raises(ValueError, match="distance='x' must be"):
        ContributionsDisplay.from_estimator(model, X, distance="x")
    with pytest.raises(ValueError, match="rows names 400, but allowed are row numbers below 400"):
        ContributionsDisplay.from_estimator(model, X, rows=[0, 400])
    with pytest.raises(ValueError, match="rows names 'a'"):
        ContributionsDisplay.from_estimator(model, X, rows="a")
    with pytest.raises(ValueError, match="rows names 3, but allowed are labels of the index"):
        ContributionsDisplay.from_estimator(OutlierRobustPCA().fit(frame), frame, rows=3)
    with pytest.raises(ValueError, match="0 rows were given, but one picture shows 1 to 8"):
        ContributionsDisplay.from_estimator(model, X, rows=[])
    with pytest.raises(TypeError, match="ax=3 must be matplotlib axes"):
        OutlierMapDisplay.from_estimator(model, X, ax=3)
