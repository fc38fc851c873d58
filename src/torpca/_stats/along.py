from torpca._stats.spread import Along  # noqa: F401
