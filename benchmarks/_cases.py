"""A short list of tables for the ablation: planted cells of all kinds, and small real sets.

`PLANTED` has every family, every hard case, every kind of good rows with a second population near
them, and leverage good and bad. Most tables are small, so that a change can be tried on all of
them in seconds; a few have many rows or long ones, where other numbers come into play.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks._beside import Judge, fit_ours
from benchmarks._families import FAMILIES, HARD
from benchmarks._second import LEVERAGE, NEAR, USUAL, Cell, Size, Table
from benchmarks._textbook import SCALINGS, Labelled, ours, ranks
from benchmarks.recovery import DATA
from torpca.datasets import make_outlier_subspace

SEEDS = 2
# Without noise an error below this is none.
EXACT = 1e-10


def _of_family(
    rng: np.random.Generator, outliers: str, size: Size, fraction: float, noise: float
) -> Table:
    made = make_outlier_subspace(
        *size, fraction, outliers=outliers, noise=noise, mean=0.5, random_state=rng
    )
    return Table(made.X, made.outliers, made.basis)


def _hard(rng: np.random.Generator, name: str, size: Size, fraction: float, noise: float) -> Table:
    made = HARD[name](rng, *size, fraction, noise)
    return Table(made.X, made.bad, made.basis)


def family(letter: str, size: Size, fraction: float, noise: float = 0.01) -> Cell:
    outliers = FAMILIES[letter]
    recipe = partial(_of_family, outliers=outliers, size=size, fraction=fraction, noise=noise)
    return Cell("families", outliers, size, fraction, noise, recipe)


def hard(name: str, size: Size, fraction: float, noise: float = 0.01) -> Cell:
    recipe = partial(_hard, name=name, size=size, fraction=fraction, noise=noise)
    return Cell("hard", name, size, fraction, noise, recipe)


SMALL: Size = (1000, 30, 4)
BAD = "bad, 2 noise off, "
PLANTED = (
    # Many rows, of which a part is iterated on; long rows, of which few make up the sample.
    family("e", (8500, 200, 3), 0.4),
    family("c", (12_000, 20, 3), 0.4),
    family("a", (1500, 250, 5), 0.4),
    family("e", (700, 350, 32), 0.2),
    family("e", (100, 400, 3), 0.4),
    *(family(letter, SMALL, 0.45) for letter in FAMILIES),
    *(family(letter, (500, 20, 3), 0.4, 0.0) for letter in "ce"),
    *(hard(name, SMALL, 0.4) for name in HARD),
    hard("both_ways", USUAL, 0.4),
    *(cell for cell in NEAR if cell.size[0] in (200, 500, 1000) and cell.size[2] <= 5),
    *(cell for cell in NEAR if cell.size == (100, 10, 2)),
    *(cell for cell in LEVERAGE if cell.size != USUAL),
    *(
        cell
        for cell in LEVERAGE
        if (cell.size, cell.fraction, cell.noise) == (USUAL, 0.12, 0.05)
        and cell.data
        in (
            BAD + "3 out in one direction",
            BAD + "5 out in one direction",
            BAD + "10 out in 5 directions",
            "good, 5 out in one direction",
        )
    ),
)
SETS = (
    "bushfire",
    "cardio",
    "glass_spectra",
    "hbk",
    "mortality_fr",
    "octane",
    "philips",
    "stamps",
    "wdbc",
)
# Each as it is and with standardised features.
REAL = {f"{name}, {scaling}": (name, scaling) for name in SETS for scaling in SCALINGS}

Fit = Callable[[], float]


def planted_fits(cell: Cell) -> list[Fit]:
    """Fits of the tables of a cell: each returns the error over that of the oracle."""

    def fit(judge: Judge, table: Table) -> float:
        V, units, _ = fit_ours(cell, table.X)
        error = judge.error(V, units)
        return 1.0 if error < EXACT else error / max(judge.oracle, EXACT)

    tables = [cell.draw(seed) for seed in range(SEEDS)]
    return [partial(fit, Judge(cell, table), table) for table in tables]


def real_fits(case: str, folder: Path = DATA) -> list[Fit]:
    """The fit of a real set: it returns the larger AUC of two."""
    name, scaling = REAL[case]
    data, k = Labelled(folder, name, scaling), ranks(folder)[name, SCALINGS[scaling]]
    return [lambda: float(max(ours(data, k, seeds=1)["auc"]))]


def real_sets(folder: Path = DATA) -> list[str]:
    """Names of the real sets that are there."""
    return [case for case, (name, _) in REAL.items() if (folder / f"{name}.npz").is_file()]
