"""Whether the paper's theorems hold, claim by claim, on data with a known answer.

Run from the repository root:

    python -m benchmarks.theorems

One line per claim and setting: in how many instances it was tried (steps or removals where the
setting says so), the worst value, the bound, and whether the worst is within it. The exit status is
not zero if a line does not hold. A line with "-" there shows what happens where nothing is claimed.
The file of results says at which instance the worst value was found.

Good rows have Gaussian coefficients, or are "flat": rescaled to equal leverage, so that mu is near
1 and the theorems allow the most bad rows. mu is always that of the good rows at hand.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks._families import FAMILIES
from benchmarks._report import report
from torpca import Iteration, project_to_ellipsoid, torp, torp_bin, torp_g, torp_n
from torpca._core.theorems import C1, theorem_eta, theorem_rho, zeta1, zeta2
from torpca.datasets import make_outlier_subspace
from torpca.metrics import frobenius_residual, incoherence, spectral_residual, subspace_error

EXACT = 1e-12  # of ||L||_F: what counts as exact, and as rounding, without noise
EPS = 1e-12  # of ||X||_2: eps of the theorems at the default `tol` of the algorithms
SAME_SUBSPACE = 1e-9  # sine of an angle that rounding explains

Line = dict[str, Any]
Sizes = Sequence[tuple[int, int]]  # (n, d)


def main() -> None:
    claims = (exact_recovery, halving, graded_rows, noisy_rows, gaussian_noise)
    with one_thread():
        lines = [line for claim in claims for line in claim()]
    report("theorems", lines, ("claim", "setting", "instances", "worst", "bound", "holds"))
    failed = sum(line["holds"] is False for line in lines)
    if failed:
        raise SystemExit(f"{failed} of {len(lines)} lines do not hold")


def one_thread() -> threadpool_limits:
    """Keep linear algebra to one thread: matrices are small here, and threads mostly wait."""
    return threadpool_limits(1, user_api="blas")


class Tally:
    """The worst value of one claim in each setting, in the order in which settings came up."""

    def __init__(self, claim: str, bound: float, *, claimed: bool = True) -> None:
        self.claim, self.bound, self.claimed = claim, bound, claimed
        self.found: dict[str, list[tuple[float, Mapping[str, Any]]]] = {}

    def add(self, setting: str, value: float, about: Mapping[str, Any]) -> None:
        """Note a value and the instance it is `about`."""
        self.found.setdefault(setting, []).append((float(value), about))

    def lines(self) -> Iterator[Line]:
        """Yield one line for each setting; a claim that was never tried does not hold."""
        for setting, values in self.found.items() or [("never tried", [])]:
            # NaN is worse than anything.
            worst, about = max(
                values, key=lambda found: (math.isnan(found[0]), found[0]), default=(math.nan, {})
            )
            yield {
                "claim": self.claim,
                "setting": setting,
                "instances": len(values),
                "worst": worst,
                "bound": self.bound,
                "holds": worst <= self.bound if self.claimed else None,
                "worst_at": dict(about),
            }


# The claims.


def exact_recovery(
    sizes: Sizes = ((5000, 30), (200, 300)),
    ranks: Sequence[int] = (1, 2, 5, 10),
    seeds: Sequence[int] = (0,),
) -> Iterator[Line]:
    """Theorem 1: without noise TORP finds the subspace exactly."""
    tally = Tally("1 torp: ||(I-VV')L||_F / ||L||_F", EXACT)
    families = (*FAMILIES.values(), Graded(0.1))
    for (n, d), rank, seed, flat in product(sizes, ranks, seeds, (True, False)):
        for divisor, outliers in product((128, 4), families):
            data = instance(n, d, rank, divisor, outliers=outliers, flat=flat, seed=seed)
            known = max(theorem_rho(data.mu, rank), data.n_bad / n)
            for asked, rho in product((rank, rank + 1, 2 * rank + 1), (known, None)):
                found = torp(data.X, asked, rho=rho)
                tally.add(
                    f"{share(data, divisor, 128)}, {'rho from mu' if rho else 'rho by grid'}, "
                    f"rank asked {'= r' if asked == rank else '> r'}",
                    frobenius_residual(found.components.T, data.L, relative=True),
                    data.about | {"rank_asked": asked},
                )
    return tally.lines()


def halving(
    sizes: Sizes = ((20_000, 20), (3000, 20)),
    ranks: Sequence[int] = (1, 2, 5, 10),
    seeds: Sequence[int] = (0,),
) -> Iterator[Line]:
    """Proof of Theorem 1: each iteration halves what the kept rows have off the subspace."""
    tally = Tally("2 torp: ||(I-V*V*')X_kept||_F, after / before an iteration", 0.5)
    end = Tally("2 torp: ||(I-VV')L||_F / ||L||_F at the end", EXACT)
    kinds = [Graded(*kind) for kind in product((0.5, 0.1, 0.01), (1e-3, 1.0, 1e3), (False, True))]
    for (n, d), rank, seed, flat in product(sizes, ranks, seeds, (True, False)):
        for outliers in kinds:
            data = instance(n, d, rank, 128, outliers=outliers, flat=flat, seed=seed)
            if data.allowed(128) < 1:
                continue  # not even one bad row is within the theorem
            off = np.linalg.norm(data.X - (data.X @ data.basis) @ data.basis.T, axis=1)
            trace: list[Iteration] = []
            found = torp(data.X, rank, mu=data.mu, callback=trace.append)
            rows = "flat" if flat else "Gaussian"
            setting = f"{share(data, 128, 128)} and graded, {rows} rows, r = {rank}"
            error = frobenius_residual(found.components.T, data.L, relative=True)
            end.add(setting, error if found.converged else math.nan, data.about)
            left = [np.linalg.norm(off), *(np.linalg.norm(off[step.support]) for step in trace)]
            for before, after in pairwise(left):
                # Tested are the steps that leave bad rows in, with more than rounding.
                if after > EXACT * np.linalg.norm(data.L):
                    tally.add(f"{setting} (steps)", after / before, data.about)
    for claim in (tally, end):
        yield from claim.lines()


def graded_rows(
    sizes: Sizes = ((4000, 7),),
    ranks: Sequence[int] = (1, 2, 5),
    ratios: Sequence[float] = (1e2, 1e4, 1e8, 1e12),
    seeds: Sequence[int] = (0,),
) -> Iterator[Line]:
    """Theorem 1 and its kin where bad rows share a line or a plane and differ much in size.

    Each hides the smaller ones: its direction is in the subspace, and beside it they are not
    incoherent. They go one after the other, while the subspace stands still.
    """
    end = Tally("5 ||(I-VV')L||_F / ||L||_F at the end, converged", EXACT)
    for (n, d), rank, seed, ratio in product(sizes, ranks, seeds, ratios):
        for dim, rows, rotated, center in product(
            (1, 2), ("axes", "signs", "uniform"), (True, False), (False, True)
        ):
            data = aligned(n, d, rank, ratio, dim, rows, rotated=rotated, center=center, seed=seed)
            X = data.X + 3.0 * center
            where = "on a line" if dim == 1 else "in a plane"
            for name, algorithm, options in (
                ("torp", torp, {"mu": data.mu}),
                ("torp, rho by grid", torp, {}),
                ("torp_n", torp_n, {"mu": data.mu}),
                ("torp_bin", torp_bin, {"mu": data.mu}),
                ("torp_bin, rho by grid", torp_bin, {}),
                ("torp_g, sigma = 0", torp_g, {"mu": data.mu, "sigma": 0.0}),
                ("torp_g, both estimated", torp_g, {}),
            ):
                found = algorithm(X, rank, center=center, **options)
                error = frobenius_residual(found.components.T, data.L, relative=True)
                outside = ["centred"] * center + ["bad rows", "n"] * (algorithm is torp_g)
                beyond = f" [outside the theorem: {', '.join(outside)}]" if outside else ""
                end.add(
                    f"{name}: n/(128 mu^2 r) bad {where}{beyond}",
                    error if found.converged else math.nan,
                    data.about,
                )
    return end.lines()


def noisy_rows(
    sizes: Sizes = ((6000, 20),),
    ranks: Sequence[int] = (2, 5),
    seeds: Sequence[int] = (0,),
) -> Iterator[Line]:
    """Theorems 2 and 4, and that of Appendix D: TORP-N and TORP-BIN, whatever the noise."""
    ranks_differ = "3 torp_n, torp_bin: difference of the ranks"
    same_rank, unclaimed = Tally(ranks_differ, 0.0), Tally(ranks_differ, 0.0, claimed=False)
    same_space = Tally("3 torp_n, torp_bin: sine of the angle between, ranks equal", SAME_SUBSPACE)
    runs = Tally("3 torp_bin: outer iterations, beyond floor(log2 r) + 1", 0.0)
    plain = Tally("3 ||(I-VV')L||_F / (60 sqrt(r) ||N||_F + eps)", 1.0)
    sharp = Tally("3 ||(I-VV')L||_F / (3||(I-V_kV_k')L||_F + 9||N||_F + eps/10n)", 1.0)
    enough = Tally("3 largest k with ||N||_F <= sigma_k/16, beyond the rank returned", 0.0)
    for (n, d), rank, seed, flat in product(sizes, ranks, seeds, (True, False)):
        for kind, data in noisy_instances(n, d, rank, flat, seed):
            eps = EPS * np.linalg.norm(data.X, 2)
            noise = np.linalg.norm(data.N)
            sigma = np.linalg.svd(data.L @ data.basis, compute_uv=False)
            k = int(np.count_nonzero(noise <= sigma / 16))
            found = [search(data.X, rank, mu=data.mu) for search in (torp_n, torp_bin)]
            V, W = (result.components.T for result in found)
            about = data.about | {"k": k, "ranks": [V.shape[1], W.shape[1]]}
            setting = f"{kind}, rank {'r' if V.shape[1] == rank else 'below r'} returned"
            # Whether TORP-N gives up need not be monotone in the rank, and then which ranks are
            # tried matters. That takes a decoy to bring about.
            ranks_of = unclaimed if isinstance(data.outliers, Decoy) else same_rank
            ranks_of.add(setting, abs(V.shape[1] - W.shape[1]), about)
            if V.shape == W.shape:
                same_space.add(setting, subspace_error(V, W), about)
            # rank.bit_length() is floor(log2 rank) + 1.
            runs.add(f"r = {rank}", len(found[1].ranks_tried) - rank.bit_length(), about)
            for basis in (V, W):
                returned = basis.shape[1]
                error = frobenius_residual(basis, data.L)
                rest = np.linalg.norm(sigma[max(k, returned) :])
                plain.add(kind, error / (60 * math.sqrt(rank) * noise + eps), about)
                sharp.add(kind, error / (3 * rest + 9 * noise + eps / (10 * n)), about)
                if k < rank:
                    enough.add(f"{kind}, ||N||_F > sigma_r/16", k - returned, about)
    for tally in (same_rank, unclaimed, same_space, runs, plain, sharp, enough):
        yield from tally.lines()


def gaussian_noise(
    sizes: Sizes = ((12_000, 10), (12_000, 50)),
    ranks: Sequence[int] = (1, 2, 5),
    noises: Sequence[float] = (1e-3, 1e-1, 0.5),
    seeds: Sequence[int] = (0,),
) -> Iterator[Line]:
    """Theorem 3 and its invariant: TORP-G under Gaussian noise.

    The theorem asks for an n that is out of reach, 1e8 at d = 10, r = 1: at the n tried here its
    claims are observations.
    """
    claim = "4 torp_g: ||(I-VV')L||_2 / (4 sqrt(log d) ||N||_2)"
    bound, unclaimed = Tally(claim, 1.0), Tally(claim, 1.0, claimed=False)
    back = Tally("4 torp_g: rows that came back", 0.0)
    lost = Tally("4 torp_g: good rows removed / (n/(512 mu^2 r))", 1.0)
    by_length = Tally("4 torp_g: good rows removed by zeta_1 / (3 n c2/(2 mu^2 r))", 1.0)
    by_influence = Tally("4 torp_g: share of good rows in a removal through zeta_2", 0.5)
    for (n, d), rank, seed, flat in product(sizes, ranks, seeds, (True, False)):
        for divisor, outliers, noise in product(
            (1024, 8), (*FAMILIES.values(), hidden_cluster), noises
        ):
            hidden = outliers is hidden_cluster
            # Ten times the noise: as weak as a direction can be and still count in the bound.
            scales = [1.0] * (rank - 1) + [10 * noise] if hidden else None
            data = instance(
                n,
                d,
                rank,
                divisor,
                outliers=outliers,
                flat=flat,
                seed=seed,
                noise=noise,
                singular_values=scales,
            )
            setting = share(data, divisor, 1024, rows_needed(data))
            trace: list[Iteration] = []
            found = torp_g(data.X, rank, mu=data.mu, sigma=noise, callback=trace.append)
            error = spectral_residual(found.components.T, data.L)
            error /= 4 * math.sqrt(math.log(d)) * np.linalg.norm(data.N, 2)
            if hidden and divisor == 8:
                unclaimed.add(f"{setting}, hidden cluster", error, data.about)
            else:
                bound.add(setting, error, data.about)
            allowed = n / (data.mu**2 * rank)
            n_long = 0
            supports = [np.ones(n, dtype=bool), *(step.support for step in trace)]
            for step, (before, after) in zip(trace, pairwise(supports), strict=True):
                back.add(f"{setting} (steps)", np.count_nonzero(after & ~before), data.about)
                removed = before & ~after
                long = distance_moved(data, before, step.components.T) >= data.zetas[0]
                n_long += np.count_nonzero(removed & long & ~data.bad)
                if step.dropped["influence"] > 0:
                    good = np.count_nonzero(removed & ~data.bad) / np.count_nonzero(removed)
                    by_influence.add(f"{setting} (removals)", good, data.about)
            n_lost = np.count_nonzero(~found.support & ~data.bad)
            lost.add(setting, n_lost * 512 / allowed, data.about)
            by_length.add(setting, n_long * 1024 / allowed, data.about)
    for tally in (bound, unclaimed, back, lost, by_length, by_influence):
        yield from tally.lines()


def distance_moved(data: "Instance", keep: np.ndarray, V: np.ndarray) -> np.ndarray:
    """How far Algorithm 3 moves the fit of each row, (n,), for a fit V to the rows in `keep`."""
    rows = data.X[keep] @ V
    radius = theorem_eta(data.mu, data.rank, len(keep))
    scales = np.linalg.norm(rows, axis=0)
    distance = np.zeros(len(keep))
    inside = project_to_ellipsoid(rows, np.eye(len(scales)), scales, radius)
    distance[keep] = np.linalg.norm(rows - inside, axis=1)
    return distance


# The data.


@dataclass(frozen=True, eq=False)
class Instance:
    """Rows and the truth about them: X = L + N at good rows; L = N = 0 at bad ones."""

    X: np.ndarray
    L: np.ndarray
    N: np.ndarray
    bad: np.ndarray
    outliers: "str | BadRows"
    """Family of the bad rows, or the function that made them."""
    basis: np.ndarray
    """Columns spanning the rows of L, largest singular value first."""
    mu: float
    sigma: float
    """Root-mean-square entry of the noise that was added."""
    about: dict[str, Any]
    """What it was made from."""

    @property
    def rank(self) -> int:
        return self.basis.shape[1]

    @property
    def n_bad(self) -> int:
        return int(np.count_nonzero(self.bad))

    @property
    def zetas(self) -> tuple[float, float]:
        """The two thresholds of Algorithm 3."""
        mu, r, d = self.mu, self.rank, self.X.shape[1]
        return zeta1(mu, r, d, self.sigma), zeta2(mu, r, d, self.sigma)

    def allowed(self, divisor: float) -> int:
        """Whole rows in n/(divisor mu^2 r)."""
        return int(len(self.X) / (divisor * self.mu**2 * self.rank))


BadRows = Callable[[np.random.Generator, Instance], np.ndarray]


def instance(
    n: int,
    d: int,
    rank: int,
    divisor: float,
    *,
    outliers: str | BadRows,
    flat: bool,
    seed: int,
    best: bool = False,
    spike: float = 0.0,
    **noise: Any,
) -> Instance:
    """Rows of which n/(divisor mu^2 r) are bad, rounded down, but at least one.

    `outliers` is a family of `make_outlier_subspace`, or a function that makes bad rows to spite
    the good ones. With `best`, L is the best approximation of rank r to the good rows, else it
    is what they were before noise was added. `spike` is noise on few rows, as a share of sigma_r;
    `noise` goes to `make_outlier_subspace`.
    """

    def draw(n_bad: int) -> Instance:
        family = outliers if isinstance(outliers, str) else "isotropic"
        made = make_outlier_subspace(
            n, d, rank, n_bad / n, outliers=family, random_state=seed, **noise
        )
        bad, L, basis = made.outliers, made.low_rank, made.basis
        if flat:
            leverage = np.linalg.norm(np.linalg.qr(L @ basis)[0], axis=1)
            leverage[bad] = 1.0  # their rows of L are zero
            L = L * (np.sqrt(rank / n) / leverage)[:, None]
        X = L + made.noise
        if spike:
            X += spike * noise_on_few_rows(np.random.default_rng(seed), L, basis)
        if best:
            U, s, Vt = np.linalg.svd(X, full_matrices=False)
            L, basis = (U[:, :rank] * s[:rank]) @ Vt[:rank], Vt[:rank].T
        mu = incoherence(L @ basis, rank)
        about = {"n": n, "d": d, "r": rank, "n_bad": n_bad, "mu": mu, "flat": flat, "seed": seed}
        about |= {"outliers": getattr(outliers, "__name__", str(outliers)), "spike": spike, **noise}
        data = Instance(X, L, X - L, bad, outliers, basis, mu, noise.get("noise", 0.0), about)
        if isinstance(outliers, str):
            X[bad] = made.X[bad]
        else:
            X[bad] = outliers(np.random.default_rng(seed), data)
        return data

    # mu depends, a little, on which rows are bad.
    count = max(1, draw(0).allowed(divisor))
    while count > max(1, (data := draw(count)).allowed(divisor)):
        count = max(1, data.allowed(divisor))
    return data


def share(data: Instance, divisor: float, proven: float, needed: float = 0.0) -> str:
    """How many rows are bad, in words, and what of it the theorem does not cover.

    The theorem is for n/(proven mu^2 r) bad rows and `needed` rows.
    """
    few = data.allowed(divisor) < 1
    words = f"1 row bad > n/({divisor} mu^2 r)" if few else f"n/({divisor} mu^2 r) bad"
    outside = ["bad rows"] * (few or divisor < proven) + ["n"] * (len(data.X) < needed)
    return f"{words} [outside the theorem: {', '.join(outside)}]" if outside else words


def rows_needed(data: Instance, failure: float = 0.05) -> float:
    """n that Theorem 3 asks for, to fail with probability `failure` at most."""
    r, d = data.rank, data.X.shape[1]
    # Three events that fail with probability failure/3 each; log(1/(3 failure)) is a misprint.
    logarithms = math.log(3 / failure) + d * math.log(80 * d)
    return 16 * data.mu**2 * r**2 * d / C1 * logarithms


@dataclass(frozen=True)
class Graded:
    """Bad rows of many sizes, each hidden from residuals by the tilt that larger ones cause.

    Each is a good row's double, plus something off the subspace: the first `first` times the norm
    of L, each next `ratio` times that; in one direction if `aligned`, else in random ones.
    """

    ratio: float
    first: float = 1.0
    aligned: bool = False

    def __call__(self, rng: np.random.Generator, data: Instance) -> np.ndarray:
        m, d, V = data.n_bad, data.X.shape[1], data.basis
        off = rng.standard_normal((1 if self.aligned else m, d))
        off -= (off @ V) @ V.T
        off /= np.linalg.norm(off, axis=1, keepdims=True)
        twins = rng.choice(np.flatnonzero(~data.bad), size=m)
        sizes = self.first * np.linalg.norm(data.L, 2) * self.ratio ** np.arange(m)
        return 0.9 * data.L[twins] + sizes[:, None] * off


def aligned(
    n: int,
    d: int,
    rank: int,
    ratio: float,
    dim: int,
    rows: str,
    *,
    rotated: bool,
    center: bool,
    seed: int,
) -> Instance:
    """As many bad rows as Theorem 1 allows, on a line (`dim` 1) or in a plane (2) off the subspace.

    Each is `ratio` times as large as the last, over 24 orders of magnitude at most; then sizes
    begin again. Good rows are signed unit vectors ("axes"), so that which of them are dropped does
    not move the subspace at all; or have coefficients +-1 ("signs"), with ties of another kind; or
    "uniform" ones. With `center` their mean is zero.
    """
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1.0, 1.0], size=(n, rank))
    coefficients = {
        "axes": signs * np.eye(rank)[rng.integers(0, rank, n)],
        "signs": signs,
        "uniform": rng.uniform(-1, 1, (n, rank)),
    }[rows]
    order = rng.permutation(n)

    def good(n_bad: int) -> np.ndarray:
        kept = coefficients.copy()
        if center:
            kept -= kept[order[n_bad:]].mean(axis=0)
        kept[order[:n_bad]] = 0.0
        return kept

    n_bad = n // (128 * rank)
    while n_bad > int(n / (128 * rank * (mu := incoherence(good(n_bad), rank)) ** 2)):
        n_bad -= 1
    X, bad = np.zeros((n, d)), order[:n_bad]
    X[:, :rank] = good(n_bad)
    sizes = 10.0 * ratio ** (np.arange(n_bad) % int(1 + 24 / math.log10(ratio)))
    off = rng.standard_normal((n_bad, dim)) if dim > 1 else np.ones((n_bad, 1))
    off /= np.linalg.norm(off, axis=1, keepdims=True)
    X[bad, rank : rank + dim] = sizes[:, None] * off
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0] if rotated else np.eye(d)
    X, L, basis = X @ Q.T, X[:, :rank] @ Q[:, :rank].T, Q[:, :rank]
    about = {"n": n, "d": d, "r": rank, "n_bad": n_bad, "mu": mu, "rows": rows, "seed": seed}
    about |= {"ratio": ratio, "dim": dim, "rotated": rotated, "center": center}
    mask = np.isin(np.arange(n), bad)
    return Instance(X, L, np.zeros_like(L), mask, "aligned", basis, mu, 0.0, about)


def noisy_instances(
    n: int, d: int, rank: int, flat: bool, seed: int
) -> Iterator[tuple[str, Instance]]:
    """Instances within Theorem 2, and the kind of their noise in words.

    Levels are ||N||_F as a share of the weakest direction's sigma_r.
    """
    profiles = ([1.0] * rank, np.geomspace(1, 1e-4, rank), [1.0] + [1e-2] * (rank - 1))
    along = (Accomplices(1.0), Accomplices(2.0))
    kinds = (
        ("Gaussian noise", (1e-6, 0.03, 0.1, 1.0, 4.0), FAMILIES.values()),
        ("adversarial noise", (1e-6, 0.03, 0.1, 0.5, 0.9), FAMILIES.values()),
        (FEW_ROWS, (1e-6, 0.03, 0.1, 0.5, 0.9), ("isotropic", *along)),
    )
    for (kind, levels, families), scales in product(kinds, profiles):
        for level, outliers in product(levels, families):
            noise: dict[str, Any] = {"noise": level * scales[-1] / math.sqrt(d)}
            if kind == FEW_ROWS:
                noise = {"spike": level}
            elif kind == "adversarial noise":
                noise["noise_kind"] = "adversarial"
            data = instance(
                n,
                d,
                rank,
                128,
                outliers=outliers,
                flat=flat,
                seed=seed,
                best=True,
                singular_values=list(scales),
                **noise,
            )
            if data.allowed(128) >= 1:  # else not even one bad row is within the theorem
                yield kind, data
    if flat:
        for decoy_seed in range(10 * seed, 10 * seed + 10):
            data = instance(
                300 * rank,
                rank + 3,
                rank,
                128,
                outliers=Decoy(),
                flat=True,
                seed=decoy_seed,
                best=True,
                singular_values=[1.0] + [0.2] * (rank - 1),
                spike=0.93,
            )
            yield f"{FEW_ROWS} and a decoy", data


def noise_on_few_rows(rng: np.random.Generator, L: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """Noise (n, d) of norm sigma_r along one direction off the subspace, on n/(32 mu^2 r) rows.

    It does not correlate with L, so that L stays the best approximation of L + noise.
    """
    U, s, _ = np.linalg.svd(L @ basis, full_matrices=False)
    n_rows = max(2 * len(s), int(1 / (32 * np.max(np.sum(U**2, axis=1)))))
    rows = rng.choice(np.flatnonzero(np.any(L, axis=1)), size=n_rows, replace=False)
    weights = rng.choice([-1.0, 1.0], size=n_rows)
    weights -= U[rows] @ np.linalg.lstsq(U[rows], weights)[0]
    direction = rng.standard_normal(len(basis))
    direction -= basis @ (basis.T @ direction)
    noise = np.zeros_like(L)
    noise[rows] = np.outer(weights, direction)
    return s[-1] * noise / np.linalg.norm(noise)


FEW_ROWS = "noise on few rows"


@dataclass(frozen=True)
class Accomplices:
    """Bad rows along the strongest direction of the noise, `strength` times as strong as it.

    Together they lift it above directions of L. A direction of few rows is what TORP-N gives up at.
    """

    strength: float

    def __call__(self, rng: np.random.Generator, data: Instance) -> np.ndarray:
        _, s, Vt = np.linalg.svd(data.N, full_matrices=False)
        length = self.strength * s[0] / math.sqrt(max(data.n_bad, 1))
        return np.tile(length * Vt[0], (data.n_bad, 1))


@dataclass(frozen=True)
class Decoy:
    """Accomplices, one of them so long that in the first fit the noise looks ordinary.

    Rows along the noise then have little residual and little incoherence, and it depends on the
    rank how many of them the first iteration drops all the same, and with that whether the noise
    is noticed in the second.
    """

    length: float = 15.0  # of the decoy, in norms of the noise
    strength: float = 0.9
    tilt: float = 0.03  # off the direction of the noise

    def __call__(self, rng: np.random.Generator, data: Instance) -> np.ndarray:
        rows = Accomplices(self.strength)(rng, data)
        if len(rows) == 0:
            return rows
        side = rng.standard_normal(rows.shape[1])
        side -= data.basis @ (data.basis.T @ side)
        side -= rows[0] * (rows[0] @ side) / (rows[0] @ rows[0])
        length = np.linalg.norm(rows[0])
        rows += self.tilt * length * side / np.linalg.norm(side)
        rows[0] *= self.length * np.linalg.norm(data.N, 2) / length
        return rows


def hidden_cluster(rng: np.random.Generator, data: Instance) -> np.ndarray:
    """Bad rows at one point off the subspace, as far out as the ellipsoid lets them stay."""
    m, (n, d), V = data.n_bad, data.X.shape, data.basis
    off = rng.standard_normal(d)
    off -= V @ (V.T @ off)
    # The fit of such a row, x, is moved to within the radius: by 1 - radius sqrt(m) of it.
    moved = 1 - theorem_eta(data.mu, data.rank, n) * math.sqrt(m)
    length = 0.95 * min(data.zetas) / moved
    return np.tile(length * off / np.linalg.norm(off), (m, 1))


if __name__ == "__main__":
    main()
