"""What `benchmarks/ordinary.py` fits, and how it counts."""

import numpy as np
import pytest

from benchmarks import ordinary


@pytest.mark.parametrize("kind", ordinary.KINDS)
def test_tables_are_finite_and_the_same_each_time(kind):
    X, again = (ordinary.KINDS[kind](np.random.default_rng(0), 40) for _ in range(2))
    assert X.shape in ((40, ordinary.FEATURES), (40, ordinary.FEATURES + 1))
    assert np.all(np.isfinite(X))
    np.testing.assert_array_equal(X, again)


def test_clean_rows_are_seldom_flagged_and_nobody_is_warned():
    found = ordinary.line("Gaussian", 300, False, 2)
    assert float(found["most"].rstrip("%")) < 3
    assert (found["warned"], found["silent"]) == ("0 of 2", 0)


def test_many_flagged_rows_without_a_warning_are_silent(monkeypatch):
    # Of rows of an answer and its warning, only the warning is missing.
    kind, n = "Gaussian and one answer", 300
    told = ordinary.line(kind, n, True, 1)
    assert (told["warned"], told["silent"]) == ("1 of 1", 0)
    monkeypatch.setattr("torpca._estimators.robust.warn_of_codes", lambda *_: None)
    untold = ordinary.line(kind, n, True, 1)
    assert untold["flagged"] == told["flagged"]
    assert (untold["warned"], untold["silent"]) == ("0 of 1", 1)
