# %% [markdown]
# # Genotypes: ancestry and batches in a wide table
#
# A genetic study has 326 people and 4000 markers. PCA of the genotypes shows ancestry, and the
# study corrects for the first components. Twenty-eight people of a distant ancestry and eight
# samples from a faulty batch distort these components.
#
# **What to look for:** the usual remedy removes everyone who is more than six standard deviations
# out on any component, and repeats. A *group* of outliers is never that far out, because the group
# itself makes the standard deviation large.

# %% [markdown]
# ## The data
#
# The allele frequencies of each population drift away from those of a common ancestor (the
# Balding-Nichols model). Everyone has 0, 1 or 2 copies of an allele, drawn with the
# frequency of their population. In the faulty batch, 8 % of the markers were read from the wrong
# strand: 0 for 2 and 2 for 0.

# %%
import numpy as np

GROUPS = ["A", "B", "C", "distant", "batch"]


def genotypes(seed, sizes=(110, 100, 80, 28, 8), n_markers=4000):
    """Copies of an allele (people, markers), and the group of everyone."""
    rng = np.random.default_rng(seed)
    ancestor = rng.uniform(0.05, 0.95, n_markers)

    def drifted(distance):
        spread = (1 - distance) / distance
        return rng.beta(ancestor * spread, (1 - ancestor) * spread)

    frequencies = [drifted(0.03), drifted(0.03), drifted(0.03), drifted(0.12)]
    frequencies.append(frequencies[0])  # the batch is of population A
    copies = [rng.binomial(2, f, (n, n_markers)) for f, n in zip(frequencies, sizes, strict=True)]
    wrong_strand = rng.random(n_markers) < 0.08
    copies[4][:, wrong_strand] = 2 - copies[4][:, wrong_strand]
    return np.vstack(copies), np.repeat(GROUPS, sizes)


def standardized(copies):
    """Common markers with mean 0, divided by their standard deviation in one population."""
    frequency = copies.mean(axis=0) / 2
    common = (frequency > 0.02) & (frequency < 0.98)
    p = frequency[common]
    return (copies[:, common] - 2 * p) / np.sqrt(2 * p * (1 - p))


copies, group = genotypes(seed=0)
X = standardized(copies)
good = np.isin(group, ["A", "B", "C"])
print(f"{X.shape[0]} people, {X.shape[1]:,} markers, {np.sum(~good)} of them should not count")

# %% [markdown]
# ## The usual remedy
#
# These are the defaults of smartpca: ten components, six standard deviations, five rounds.


# %%
def outlier_loop(X, n_components=10, sigma=6.0, rounds=5):
    """People removed by the loop, as a mask."""
    keep = np.ones(len(X), dtype=bool)
    for _ in range(rounds):
        C = X[keep] - X[keep].mean(axis=0)
        _, vectors = np.linalg.eigh(C @ C.T)
        scores = vectors[:, -n_components:]
        far = np.any(np.abs(scores / scores.std(axis=0)) > sigma, axis=1)
        if not far.any():
            break
        keep[np.flatnonzero(keep)[far]] = False
    return ~keep


removed = outlier_loop(X)
for name in GROUPS:
    print(f"{name:8s} {removed[group == name].sum():3d} of {np.sum(group == name)}")

# %% [markdown]
# The loop removes none of the twenty-eight. A group with a share *f* of all people cannot be
# farther than sqrt((1 - f)/f) standard deviations from the mean on any component. For 28 of
# 326 people this is 3.3. Only groups of less than 2.7 % can be beyond six.

# %% [check]
assert not removed[group == "distant"].any()
assert round(np.sqrt((1 - 28 / 326) / (28 / 326)), 1) == 3.3

# %% [markdown]
# ## With the number of components given
#
# Three populations need two components. The noise in genotypes is large and there is no gap in the
# variances, so the fit cannot find this number, and we give it. The populations are groups inside
# the plane. Which of them is taken for the centre depends on where the fit starts, and a warning
# says so. We hide it here, because we ask who is off the plane.

# %%
import warnings

from torpca import OutlierRobustPCA

warnings.filterwarnings("ignore", message="OutlierRobustPCA: the flagged rows depend")

model = OutlierRobustPCA(n_components=2).fit(X)
for name in GROUPS:
    kinds, counts = np.unique(model.outlier_type_[group == name], return_counts=True)
    told = ", ".join(f"{n} {kind}" for kind, n in zip(kinds, counts, strict=True))
    print(f"{name:8s} {told}")

# %% [markdown]
# Read the *types*, not only the labels. Populations are clusters, and the centre is among the
# larger ones. A cluster far from the centre lies far out *inside* the subspace, and may be called
# "good leverage". The components should show this ancestry, and these rows took part in the fit.
# Leave out only the rows *off* the subspace: "orthogonal" and "bad leverage".

# %%
off = np.isin(model.outlier_type_, ["orthogonal", "bad leverage"])
print(f"off the subspace: {off[~good].sum()} of {np.sum(~good)} that should not count, ", end="")
print(f"{off[good].sum()} of {good.sum()} others")

# %% [check]
assert off[~good].all()
assert off[good].sum() <= 6

# %%
from sklearn.decomposition import PCA

from torpca.metrics import principal_angles

plain = PCA(2).fit(X)
oracle = PCA(2).fit(X[good])
for name, components in [("ordinary PCA", plain.components_), ("ours", model.components_)]:
    angle = np.degrees(principal_angles(components.T, oracle.components_.T).max())
    print(f"{name:13s} {angle:5.1f} degrees from PCA of the people who should count")

# %% [check]
angles = [
    np.degrees(principal_angles(c.components_.T, oracle.components_.T).max())
    for c in (plain, model)
]
assert angles[0] > 45
assert angles[1] < 5

# %%
import matplotlib.pyplot as plt

fig, axes = plt.subplots(
    1,
    2,
    num="Everyone on the first two components. Left: component 2 shows the distant group.",
)
shapes = {"A": "o", "B": "s", "C": "^", "distant": "D", "batch": "X"}
colours = {"A": "C0", "B": "C1", "C": "C2", "distant": "C3", "batch": plt.rcParams["text.color"]}
for ax, title, found in [(axes[0], "ordinary PCA", plain), (axes[1], "OutlierRobustPCA", model)]:
    scores = found.transform(X)
    for name in GROUPS:
        here = scores[group == name]
        ax.scatter(*here.T, s=14, marker=shapes[name], color=colours[name], label=name, lw=0)
    ax.set(title=title, xlabel="component 1", ylabel="component 2")
_ = axes[1].legend(ncols=2, fontsize=8)

# %% [markdown]
# ## Related people
#
# Relatives should not take part in the fit, but they still need coordinates. `leave_out` takes
# a mask, row numbers, or labels of a data frame:

# %%
relatives = np.arange(0, 30)  # for example
without = OutlierRobustPCA(n_components=2).fit(X, leave_out=relatives)
print(f"{without.transform(X).shape[0]} people have coordinates, ", end="")
print(f"{int(without.support_.sum())} took part in the fit")

# %% [check]
assert not without.support_[relatives].any()
assert without.transform(X).shape == (326, 2)

# %% [markdown]
# ## When it fails
#
# The fit cannot know which people you want to leave out. Suppose that the distant group and C have
# 40 people each. Together they are a quarter of all people, and belong to the majority that the
# fit describes. With two components or with three, only the batch is off the subspace.

# %%
copies_2, group_2 = genotypes(seed=0, sizes=(120, 110, 40, 40, 8))
X_2 = standardized(copies_2)
for k in (2, 3):
    types = OutlierRobustPCA(n_components=k).fit(X_2).outlier_type_
    off_2 = np.isin(types, ["orthogonal", "bad leverage"])
    counts = [f"{off_2[group_2 == name].sum()} {name}" for name in GROUPS]
    print(f"{k} components, off the subspace: " + ", ".join(counts))

# %% [check]
assert off_2[group_2 == "batch"].all()
assert off_2[group_2 != "batch"].sum() <= 3

# %% [markdown]
# A plot of the scores would show the distant group as a separate cluster.
#
# ## What was found
#
# - The loop with six standard deviations removes nobody of the distant group, and never could.
# - With two components, the fit puts all 36 samples off the subspace, and hardly anyone else.
# - Its components are within a few degrees of the components of a study without these samples.
#   The components of ordinary PCA are not.
# - A population far from the others may be called "good leverage": look at the type before you
#   remove a row.
