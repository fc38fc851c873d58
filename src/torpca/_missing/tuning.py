"""The numbers that were chosen for rows with missing and bad cells, each with its reason.

`python -m benchmarks.missing` tells what changing one of them does.
"""

# ---- turns of fits and completions ---------------------------------------------------------------

FITS = 5
"""Robust fits of a table at most, each of rows that the one before completes; most take two."""
FEW_CELLS = 1e-3
"""Share of the cells that may still come or go in the end."""
NEAR_CHANCE = 0.3
"""Share of the error of chance by which the subspace may still be off in the end."""
STANDS = 0.1
"""Residuals still shrink, and are no noise yet, if this share of those before is left, or less."""

# ---- EM ------------------------------------------------------------------------------------------

BELOW_CHANCE = 0.05
"""Share of the error of chance by which the subspace may be off where EM ends, ..."""
MAX_PASSES = 100
"""... and passes at most."""
SLOWEST = 0.95
"""Largest factor by which moves of EM are taken to shrink."""
SMALL = 8
"""Systems of equations up to this size are solved many at a time: in LAPACK small ones take 1.2
times as long, and by elimination those of 20 unknowns 1.5 times."""

# ---- samples and memory --------------------------------------------------------------------------

ROWS = 2000
"""Rows that tell what columns or cells are like: medians of so many are good to 3 %. ..."""
NUMBERS = 2**20
"""... In them there are at most so many numbers, 8 MB, ..."""
FEWEST = 300
"""... but so many rows in any case."""


def rows_to_look_at(d: int) -> int:
    """Number of rows, d long, in such a sample."""
    return min(ROWS, max(FEWEST, NUMBERS // d))


HELD_BYTES = 2**27
"""Completed rows are held if they take no more memory than this; else made in every pass."""

# ---- rounding ------------------------------------------------------------------------------------

ROUNDING = 1e-7
"""Shares below this are rounding: squares lose half of the digits, and sums another few."""
LEAST = 1e-3
"""Share of the noise that a row or a cell is taken to show at least: divisors are no less."""

# ---- the first look at cells: DetectDeviatingCells -----------------------------------------------

CORRELATED = 0.5
"""Columns less correlated do not predict each other (Rousseeuw and Van den Bossche 2018)."""
NEIGHBOURS = 30
"""At most so many columns predict one: with all of them the look takes several times as long."""
FEW_ROWS = 10
"""Columns with fewer rows in common count as uncorrelated."""
NO_WEIGHT, BOUND = 3.0, 2.5
"""Median absolute deviations from which on numbers have no weight in a location, and count no more
in a scale (the same, section 3)."""
WRAP = (1.5, 4.0, 1.541, 0.862)
"""Numbers are themselves up to the first and zero from the second on; height and steepness between
follow from these (Raymaekers and Rousseeuw 2021)."""

# ---- bad cells -----------------------------------------------------------------------------------

CUT = 3.5
"""Standard deviations beyond which a cell is bad: one good cell in two thousand is."""
MOST_BAD = 0.25
"""Share of a row's cells that may be bad; if more are, it is the row that is bad."""
FIRST = 0.5
"""Of the cells beyond the cut-off those go first that are this share of the farthest: one bad cell
moves the scores, and so the residuals of all others."""
LOOKS = 10
"""Looks at a row, each without the cells that the one before found, at most."""

# ---- pictures ------------------------------------------------------------------------------------

MAX_ROWS = 60
"""Rows of a map of cells: as many as a page shows side by side with their names."""
