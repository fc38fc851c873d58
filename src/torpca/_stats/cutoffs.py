from torpca._stats.lines import taper  # noqa: F401
from torpca._stats.rule import cutoff, cutoff_of_largest, nearest, of_largest  # noqa: F401
