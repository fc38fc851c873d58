"""Many rows without noise: most lie in a subspace up to rounding, and a part tells in which."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from torpca._core.frame import choose_frame
from torpca._core.loop import Iteration
from torpca._core.problem import check_finite
from torpca._core.subspace import Fit
from torpca._robust.settle import Settled, residuals
from torpca._sources import RowSource
from torpca._sources.base import Floats


def settle_exactly(
    source: RowSource,
    sample_weight: Floats,
    rows: npt.NDArray[np.intp],
    settled: Settled,
) -> Settled | None:
    """What was `settled` on the part in `rows`, on all rows: they are in its subspace or not.

    None if the rows of the part have noise, if most rows are not in their subspace, or if some are
    so long that their squares overflow.
    """
    fit, k = settled.fit, settled.fit.V.shape[1]
    if not settled.rule.residual.exact or k == 0 or fit.frame.factors is not None:
        return None
    some = settled.keep * sample_weight[rows]
    magnitudes = check_finite(source)
    frame = choose_frame(source, magnitudes, sample_weight > 0)
    total = float(np.sum(sample_weight))
    if frame.factors is not None or k < settled.choice.rank:
        return None
    share = float(np.sum(some)) / total
    eps = float(np.finfo(source.dtype).eps)
    fit = Fit(fit.mean, fit.V, fit.s / np.sqrt(share), frame, eps, fit.blur)
    R, _ = residuals(fit, np.ones(len(sample_weight)))
    keep = np.where((R == 0.0) & (sample_weight > 0), 1.0, 0.0)
    if float(keep @ sample_weight) <= 0.5 * total:
        return None
    n_kept = int(np.count_nonzero(keep))
    dropped = {"residual": int(np.count_nonzero(sample_weight)) - n_kept, "direction": 0}
    return replace(
        settled,
        route="exact",
        fit=fit,
        keep=keep,
        part=keep,
        law=None,
        sample_weight=sample_weight,
        residuals=R,
        studentised=R,
        good=None,
        start=settled.start.among(rows, len(sample_weight)),
        history=(*settled.history, Iteration(len(settled.history), k, dropped, n_kept, 0.0, 0.0)),
        converged=True,
    )
