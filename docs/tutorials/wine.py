# %% [markdown]
# # Wine: thirteen measurements in thirteen units
#
# scikit-learn's wine data has 178 wines from three growers, with 13 measurements each: alcohol
# in per cent, proline in milligrams, hue as a ratio. Suppose someone collected the bottles of one
# grower, and ten bottles of the other growers got mixed in.
#
# **What to look for:** units, because without scaling PCA sees only proline, and the number of
# components, because there are only 58 rows.

# %%
import numpy as np
from sklearn.datasets import load_wine

wine = load_wine(as_frame=True)
grower = wine.target.to_numpy()


def collected(seed, n_foreign=10):
    """Wines of one grower and some of the others', and which are foreign."""
    rng = np.random.default_rng(seed)
    others = rng.choice(np.flatnonzero(grower != 2), n_foreign, replace=False)
    rows = np.concatenate([np.flatnonzero(grower == 2), others])
    return wine.data.iloc[rows], grower[rows] != 2


X, foreign = collected(seed=0)
spread = X.std()
print(f"{len(X)} wines, {foreign.sum()} of other growers")
print(f"standard deviations from {spread.min():.2f} ({spread.idxmin()}) ", end="")
print(f"to {spread.max():.0f} ({spread.idxmax()})")

# %% [markdown]
# `scale=True` divides each measurement by its standard deviation among the wines that the fit
# keeps, so the foreign wines do not increase it. We also fit without scaling, for comparison.

# %% [markdown]
# There are few rows, so a fit may warn that another subspace is as good and that some labels depend
# on where it started, or that they depend on the scales. We hide these warnings here.

# %%
import warnings

from torpca import OutlierRobustPCA

warnings.filterwarnings("ignore", message="OutlierRobustPCA", category=RuntimeWarning)


def told(model, X, foreign):
    flagged = model.predict(X) == -1
    return f"{flagged[foreign].sum():2d} of 10 foreign, {flagged[~foreign].sum()} others"


for name, model in [
    ("as it is", OutlierRobustPCA()),
    ("scaled, 5 components", OutlierRobustPCA(n_components=5, scale=True)),
    ("scaled, 2 components", OutlierRobustPCA(n_components=2, scale=True)),
]:
    model.fit(X)
    how = f"{model.n_components_} components ({model.rank_.rule})"
    print(f"{name:21s} {how}: {told(model, X, foreign)}")

# %% [markdown]
# ## How many components
#
# With scaling, there is no gap in the variances. "auto" then takes the components that explain
# 90 %, but at most one for every ten rows, which is five here. A warning says so.

# %%
import warnings

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    automatic = OutlierRobustPCA(scale=True).fit(X)
print(automatic.n_components_, automatic.rank_.rule)
said = next(str(c.message) for c in caught if "gap" in str(c.message))
print(said)

# %% [markdown]
# This is good advice, because foreign wines may get a direction of their own. We draw other foreign
# wines to see how much the number matters:

# %%
draws, alarms = [collected(seed) for seed in range(8)], {}
for k in (8, 5, 4, 3, 2):
    found = []
    for some, which in draws:
        flagged = OutlierRobustPCA(n_components=k, scale=True).fit(some).predict(some) == -1
        found.append((int(flagged[which].sum()), int(flagged[~which].sum())))
    foreigners, others = (list(counts) for counts in zip(*found, strict=True))
    alarms[k] = np.array(others)
    print(f"{k} foreign of 10: {foreigners}, others of 48: {others}")

# %% [check]
assert automatic.n_components_ == 5
assert "Give n_components" in said
assert np.mean(foreigners) > 9  # of two components, the last
assert np.mean(others) < 4
assert all((alarms[k] >= 8).any() for k in (5, 4, 3))
assert (alarms[2] >= 8).sum() <= 1
assert np.median(alarms[2]) <= 3
assert np.count_nonzero(model.predict(X)[foreign] == -1) == 9
assert OutlierRobustPCA().fit(X).n_components_ == 1

# %% [markdown]
# In most draws nearly all foreign wines are found, whatever the number. With three to five
# components, eight wines of the grower or more are flagged as well in some draws, most of them as
# off the subspace. With two, few are but in one draw. `stability_` says how the answer changes with
# one component more or fewer. As a rule of thumb, use at least ten rows for each component.
#
# ## Why
#
# The model knows the column names of the data frame. Here are the five most extreme wines:

# %%
for i in np.argsort(model.score_samples(X))[:5]:
    parts = model.contributions(X.iloc[[i]]).orthogonal.ravel()
    top = [model.feature_names_in_[j] for j in np.argsort(-parts)[:3]]
    print(f"wine {X.index[i]:3d}  {model.outlier_type_[i]:13s} {', '.join(top)}")

# %% [markdown]
# ## When it fails
#
# Now we take all three growers at once, with 59, 71 and 48 wines. No majority of wines lies near
# one subspace, so the question makes no sense.

# %%
together = OutlierRobustPCA(n_components=3, scale=True).fit(wine.data)
for g in range(3):
    kinds, counts = np.unique(together.outlier_type_[grower == g], return_counts=True)
    print(f"grower {g}: " + ", ".join(f"{n} {kind}" for kind, n in zip(kinds, counts, strict=True)))

# %%
import matplotlib.pyplot as plt

from torpca.plots import OutlierMapDisplay

fig, axes = plt.subplots(
    2,
    1,
    figsize=(7.2, 7.0),
    num="Outlier maps. Above: one grower and ten foreign wines. Below: all three growers.",
)
OutlierMapDisplay.from_estimator(model, X, ax=axes[0])
OutlierMapDisplay.from_estimator(together, wine.data, ax=axes[1])

# %% [check]
far = np.maximum(
    model.score_distances_ / model.cutoffs_["score"],
    model.orthogonal_distances_ / model.cutoffs_["orthogonal"],
)
assert np.median(far[foreign]) > 1.4 > np.sort(far[~foreign])[-2]
assert np.mean(together.outlier_type_ == "regular") > 0.8

# %% [markdown]
# In the upper map most of the foreign wines are farther out than all others but one. In the
# lower map there is no gap: no wine is far from a compromise between the three groups.
#
# ## What was found
#
# - With scaling and two components nine of the ten foreign wines are flagged, and two others.
# - Without scaling the only component is proline.
# - With 58 rows, give the number of components, and keep it small.
# - Three groups are not one group with outliers. Cluster first, or fit each by itself.
