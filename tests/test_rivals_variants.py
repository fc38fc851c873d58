"""What holds for every rival holds for its variants too."""

from functools import partial

import numpy as np
import pytest

from tests import test_rivals as shared
from torpca import rivals

VARIANTS = {
    "mincovdet, deterministic": ("mincovdet", {"start": "deterministic"}),
    "robpca, deterministic": ("robpca", {"start": "deterministic"}),
    "robpca, skew": ("robpca", {"skew": True}),
    "robpca, skew, deterministic": ("robpca", {"skew": True, "start": "deterministic"}),
}


@pytest.fixture(params=VARIANTS)
def name(request, monkeypatch):
    """Name of a rival, which is the variant for as long as the test runs."""
    name, keywords = VARIANTS[request.param]
    monkeypatch.setattr(rivals, name, partial(getattr(rivals, name), **keywords))
    return name


@pytest.mark.slow
@pytest.mark.parametrize(
    "check",
    [
        shared.test_result_is_that_of_the_algorithms,
        shared.test_the_same_rows_give_the_same_answer,
        shared.test_kinds_of_rows,
        shared.test_few_long_rows,
        shared.test_one_row_far_beyond_the_others,
        shared.test_numbers_next_to_the_largest,
        shared.test_as_many_directions_as_features,
        shared.test_a_centre_is_asked_for_by_true_or_false,
        *(partial(shared.test_a_few_bad_rows_do_little_harm, size=size) for size in (1.0, 30.0)),
        *(
            partial(shared.test_the_unit_of_the_numbers_does_not_matter, exponent=exponent)
            for exponent in (-600, 600)
        ),
        *(
            partial(shared.test_rows_with_less_to_find_than_is_asked_for, kind=kind)
            for kind in ("zeros", "equal", "two points", "one line")
        ),
        *(
            partial(shared.test_values_that_are_not_finite, value=value)
            for value in (np.inf, -np.inf, np.nan)
        ),
    ],
    ids=lambda check: getattr(check, "__name__", str(getattr(check, "keywords", check))),
)
def test_variant(check, name):
    check(name)


def test_many_rows_of_zeros_beside_huge_ones(name, request):
    if "skew" not in request.node.callspec.id:
        shared.test_many_rows_of_zeros_beside_huge_ones(name)
        return
    # Four rows in ten off the zeros are more than its cut-off takes for bad.
    X, V = shared.rows_for(name)
    X *= 1e200
    X[:120] = 0.0
    assert shared.error(shared.run(name, X, 2), V) < 0.1
