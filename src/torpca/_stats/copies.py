from torpca._stats.draw import capped, merged_copies  # noqa: F401
