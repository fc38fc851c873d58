"""Rows of the sample that lie in a subspace because some columns have few values."""

from __future__ import annotations

import numpy as np

from torpca._sample.draw import Sample
from torpca._sample.fit import SampleFit
from torpca._stats.codes import is_code

# Squared loadings smaller than this are rounding.
LEAST_LOADING = 1e-6


def exact_by_codes(sample: Sample, fit: SampleFit) -> bool:
    """Whether rows lie in a subspace up to rounding for the codes in some columns alone.

    Of answers yes or no, half of the rows have one answer to a question, or the same answer to
    two: that is no sign of a subspace, and no fault of the others.
    """
    if sample.products is not None or sample.Z.shape[1] != sample.n_features:
        return False  # not in terms of the columns
    beyond = np.flatnonzero(1 - np.sum(np.square(fit.V), axis=1) > LEAST_LOADING)
    return len(beyond) > 0 and all(is_code(sample.Z[:, j]) for j in beyond)
