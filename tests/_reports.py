"""Answers to make reports from: of any size without a fit, of spectra, with hostile names."""

from dataclasses import replace

import numpy as np
import pytest

from torpca import OutlierRobustPCA
from torpca._answer import EXPLAINED, Answer, answer
from torpca._core.loop import Iteration
from torpca._explain import Explanation
from torpca._robust.rank import RankRule, choose_rank

# Each would run a script, or break the page, if it were taken for markup.
HOSTILE = (
    "</script><script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 2'>",
    '"><svg onload=window.hacked=3>',
    "<!--<script>",
    "]]>&lt;b&gt;${window.hacked = 4}",
    "javascript:window.hacked=5",
    "\u202egnp.exe\u2028\u2029",
    "{{constructor.constructor('window.hacked=6')()}}",
)


def made(n, n_flagged, *, d=8, k=3):
    """An answer about n rows of which some are flagged, made up and not fitted."""
    rng = np.random.default_rng(0)
    flagged = np.zeros(n, dtype=bool)
    flagged[rng.choice(n, n_flagged, replace=False)] = True
    score = np.where(flagged, rng.uniform(0.5, 9, n), rng.uniform(0.1, 2.9, n))
    orthogonal = np.where(flagged, rng.uniform(0.2, 8, n), rng.uniform(0.1, 0.9, n))
    orthogonal[flagged & (score <= 3)] += 1.0
    orthogonal[flagged & (orthogonal <= 1) & (score <= 3)] = 2.0
    types = np.array([["regular", "orthogonal"], ["good leverage", "bad leverage"]])[
        (score > 3).astype(int), (orthogonal > 1).astype(int)
    ]
    extreme = np.flatnonzero(flagged)
    beyond = np.maximum(score / 3, orthogonal)
    extreme = extreme[np.argsort(-beyond[extreme], kind="stable")]
    names = tuple(f"feature {j}" for j in range(1, d + 1))
    shares = rng.standard_normal((min(n_flagged, 200), d)) ** 3
    shares /= np.sum(np.abs(shares), axis=1, keepdims=True)
    variances = np.array([16.0, 9.0, 4.0, *[0.04] * (d - 3)])
    scores = rng.standard_normal((n, k)) * [4, 3, 2]
    scores[flagged] *= 3
    return Answer(
        title="made up.csv",
        ids=np.arange(1, n + 1).astype(str),
        numbers=np.arange(1, n + 1),
        names=names,
        types=types,
        flagged=flagged,
        score_distances=score,
        orthogonal_distances=orthogonal,
        cutoffs={"score": 3.0, "orthogonal": 1.0},
        times=beyond,
        scores=scores,
        plain_scores=scores[:, ::-1].copy(),
        components=np.eye(k, d),
        mean=np.zeros(d),
        variances=variances[:k],
        explained=variances[:k] / np.sum(variances),
        plain_explained=np.array([0.5, 0.3, 0.1]),
        angle=34.0,
        extreme=extreme,
        explanation=explained(min(n_flagged, EXPLAINED), d),
        contributions=shares,
        rank=choose_rank(RankRule(), variances),
        history=tuple(Iteration(i, k, {}, n - n_flagged, 100.0**-i, 1.0) for i in range(4)),
        converged=True,
    )


def explained(m, d):
    """Three features for each of m rows: one too large, one too small, one a little too large."""
    features = (np.arange(m)[:, None] + np.arange(3)) % d
    sign = np.array([1.0, -1.0, 1.0])
    shares = np.tile([0.5, 0.2, 0.1], (m, 1))
    values = np.tile(10 * sign, (m, 1))
    found = Explanation.empty(m, 3)
    return replace(
        found,
        count=np.full(m, 3),
        mended=np.ones(m, dtype=bool),
        features=features,
        values=values,
        expected=np.zeros((m, 3)),
        low=np.full((m, 3), -1.0),
        high=np.ones((m, 3)),
        shares=shares,
    )


def bare(size):
    """An answer about rows with numbers of this size."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((80, 5)) * [3, 2, 0.1, 0.1, 0.1]
    X[:4] += 30
    return answer(OutlierRobustPCA(2).fit(X * size), X * size)


def spectra():
    """Spectra with two bands, six of them with a third band that does not belong there."""
    rng = np.random.default_rng(3)
    wave = np.linspace(1100, 1550, 200)

    def band(centre, width):
        return np.exp(-(((wave - centre) / width) ** 2))

    amounts = rng.uniform(0.5, 1.5, (40, 2))
    X = amounts @ np.array([band(1180, 30), band(1300, 50)])
    X += 0.003 * rng.standard_normal(X.shape)
    bad = [24, 25, 35, 36, 37, 38]
    X[bad] += np.outer(rng.uniform(0.4, 0.8, 6), band(1450, 20))
    return answer(
        OutlierRobustPCA(2).fit(X),
        X,
        names=[f"{w:.0f} nm" for w in wave],
        title="spectra.csv",
        notes=("The column “date” was left out: it holds text.",),
    )


def hostile():
    """An answer whose title, ids, features, notes and warnings are all hostile."""
    rng = np.random.default_rng(4)
    d = len(HOSTILE)
    X = rng.standard_normal((60, d)) * [4, 3, *[0.1] * (d - 2)]
    X[: 2 * d] += 40 * np.eye(d)[np.arange(2 * d) % d]
    ids = [f"{HOSTILE[i % d]} {i}" for i in range(60)]
    return answer(
        OutlierRobustPCA(2).fit(X),
        X,
        ids=ids,
        names=HOSTILE,
        title=HOSTILE[0] + HOSTILE[1],
        notes=HOSTILE,
        warnings=HOSTILE,
    )


def quietly_fitted(X):
    with pytest.warns(RuntimeWarning, match="half of the rows are equal"):
        return OutlierRobustPCA().fit(X)


def odd_answers():
    """Answers at the edges of what there can be, by name."""
    rng = np.random.default_rng(1)
    line = np.outer(rng.standard_normal(40), [1.0, 2.0, 3.0])
    line[:3] += rng.standard_normal((3, 3))
    exact = answer(OutlierRobustPCA().fit(line), line)
    column = rng.standard_normal((60, 2)) * [1, 1e-3]
    column[0] = 50
    equal = np.ones((50, 4))
    equal[:3] = rng.standard_normal((3, 4))
    return {
        "no noise": exact,
        "all others equal": answer(quietly_fitted(equal), equal),
        "one component": answer(OutlierRobustPCA(1).fit(column), column),
        "no outliers": made(100, 0),
        "all flagged but two": made(30, 28),
        "three rows": made(3, 1),
        "no history": replace(made(60, 3), history=()),
        "huge": bare(1e150),
        "tiny": bare(1e-150),
        "an empty name": replace(made(60, 3), title="", names=("",) * 8),
    }
