from torpca._stats.outlyingness import Split, axes_of_extreme_kurtosis, best_split  # noqa: F401
