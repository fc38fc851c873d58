"""Fit rows of which some are bad, beside ordinary PCA, and say which rows were dropped."""

import numpy as np
from sklearn.decomposition import PCA

from torpca import TORP
from torpca.datasets import make_outlier_subspace
from torpca.metrics import subspace_error, support_precision, support_recall

X, basis, bad, _ = make_outlier_subspace(
    n=1000, d=30, r=3, fraction=0.1, outliers="mixed", noise=0.01, mean=1.0, random_state=0
)
print(f"{X.shape[0]} rows of {X.shape[1]} numbers near a 3-dimensional subspace, {bad.sum()} bad")

model = TORP(n_components=3).fit(X)
oracle = PCA(n_components=3).fit(X[~bad])
plain = PCA(n_components=3).fit(X)

print("sine of the largest angle to the true subspace:")
for name, fitted in [
    ("ordinary PCA", plain),
    ("TORP", model),
    ("ordinary PCA on the good rows alone", oracle),
]:
    print(f"  {name:37s} {subspace_error(fitted.components_.T, basis):.5f}")

dropped = ~model.support_
print(
    f"TORP dropped {dropped.sum()} rows, among them {support_recall(dropped, bad):.0%} of the bad "
    f"ones; {support_precision(dropped, bad):.0%} of the rows dropped are bad"
)
farthest = np.argsort(model.score_samples(X))[: bad.sum()]
print(f"of the {bad.sum()} rows farthest out, {bad[farthest].sum()} are bad; the first ten:")
print("  rows", " ".join(str(row) for row in farthest[:10]))
