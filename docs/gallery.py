# %% [markdown]
# # Gallery
#
# This page shows every plot in `torpca.plots`, with the code that draws it. The plots need
# matplotlib: `pip install "torpca[plot]"`. Each display has a method `from_estimator`, which takes
# a fitted model and rows. `ax=` draws into your own axes.
#
# The data are scikit-learn's wines: 48 wines of one grower, with 13 measurements each, and ten
# wines of other growers. The fit is not told which ones.

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from torpca import OutlierRobustPCA

wine = load_wine(as_frame=True)
grower = wine.target.to_numpy()
others = np.random.default_rng(0).choice(np.flatnonzero(grower != 2), 10, replace=False)
rows = np.concatenate([np.flatnonzero(grower == 2), others])
X = wine.data.iloc[rows]

# %% [check]
import warnings

# The rows are few: the fit warns that another subspace is as good.
warnings.filterwarnings("ignore", message="OutlierRobustPCA", category=RuntimeWarning)

# %%
model = OutlierRobustPCA(n_components=2, scale=True).fit(X)

# %% [check]
assert np.count_nonzero(model.predict(X)[-10:] == -1) >= 9

# %% [markdown]
# ## Outlier map
#
# Orthogonal distance against score distance, with both limits. The
# [user guide](user_guide.md#reading-the-outlier-map) says how to read it. The labels are the index
# of the data frame.

# %%
from torpca.plots import OutlierMapDisplay

fig, ax = plt.subplots(num="Outlier map: nine of the ten foreign wines are beyond a limit.")
_ = OutlierMapDisplay.from_estimator(model, X, ax=ax)

# %% [markdown]
# ## Scores
#
# Coordinates on two components, 1 and 2 unless `components=` says otherwise. `plain=True` draws
# ordinary PCA of the same rows beside it.

# %%
from torpca.plots import ScoresDisplay

fig, axes = plt.subplots(1, 2, figsize=(7.2, 3.4), num="Scores: ordinary PCA, and torpca.")
_ = ScoresDisplay.from_estimator(model, X, plain=True, ax=axes, n_labels=4)

# %% [markdown]
# ## Scree plot
#
# Variance of each component. `plain=True` adds ordinary PCA.

# %%
from torpca.plots import ScreeDisplay

fig, ax = plt.subplots(num="Scree plot: variances of the good rows, and of all rows.")
_ = ScreeDisplay.from_estimator(model, X, plain=True, ax=ax)

# %% [markdown]
# ## Contributions
#
# The features that made a row an outlier, here the most extreme one. `rows=` names others.

# %%
from torpca.plots import ContributionsDisplay

fig, ax = plt.subplots(num="Contributions: why the most extreme wine is an outlier.")
_ = ContributionsDisplay.from_estimator(model, X, ax=ax)

# %% [markdown]
# ## Cell map
#
# Each row is a row of the data, each column a feature. Red cells are larger than the other cells
# of the row suggest, blue ones smaller. The
# [user guide](user_guide.md#reading-the-cell-map) says how to read it.

# %%
from torpca.plots import CellMapDisplay

fig, ax = plt.subplots(figsize=(7.2, 5.6), num="Cell map: flagged rows on top.")
_ = CellMapDisplay.from_estimator(model, X, ax=ax)
