"""Fit rows of which four in ten are bad, beside ordinary PCA, told nothing about them."""

import numpy as np
from sklearn.decomposition import PCA

from torpca import OutlierRobustPCA
from torpca.datasets import make_outlier_subspace
from torpca.metrics import subspace_error

X, basis, bad, _ = make_outlier_subspace(
    n=2000, d=50, r=5, fraction=0.4, outliers="mixed", noise=0.01, mean=10.0, random_state=0
)
print(f"{X.shape[0]:,} rows of {X.shape[1]} numbers near a 5-dimensional subspace, {bad.sum()} bad")

model = OutlierRobustPCA().fit(X)
k = model.n_components_
print(f"{k} components, by {model.rank_.rule}, in {model.n_iter_} iterations")
print("sine of the largest angle to the true subspace:")
for name, components in [
    ("ordinary PCA", PCA(k).fit(X).components_),
    ("OutlierRobustPCA", model.components_),
    ("ordinary PCA on the good rows alone", PCA(k).fit(X[~bad]).components_),
]:
    print(f"  {name:37s} {subspace_error(components.T, basis):.5f}")

flagged = model.predict(X) == -1
print(f"flagged: {np.mean(flagged[bad]):.1%} of the bad rows,", end=" ")
print(f"{np.mean(flagged[~bad]):.1%} of the good ones")
for kind, count in zip(*np.unique(model.outlier_type_, return_counts=True), strict=True):
    print(f"  {kind:15s} {count}")
