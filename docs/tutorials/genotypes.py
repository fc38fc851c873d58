# %% [markdown]
# # Genotypes: ancestry and batches in a wide table
#
# A genetic study has 318 people and 4000 markers. Everyone descends from three populations, in
# shares of their own. PCA of the genotypes shows these shares, and the study corrects for the first
# components. Twenty people of a distant ancestry and eight samples from a faulty batch distort
# these components.
#
# **What to look for:** the usual remedy removes everyone who is more than six standard deviations
# out on any component, and repeats. A *group* of outliers is never that far out, because the group
# itself makes the standard deviation large.

# %% [markdown]
# ## The data
#
# The allele frequencies of each population drift away from those of a common ancestor (the
# Balding-Nichols model). Everyone has 0, 1 or 2 copies of an allele. Its frequency is that of the
# three populations, weighted by the shares of the person. In the faulty batch, 8 % of the markers
# were read from the wrong strand: 0 for 2 and 2 for 0.

# %%
import numpy as np

GROUPS = ["study", "distant", "batch"]


def drifted(rng, ancestor, distance):
    """Frequencies of a population at a distance from the common ancestor."""
    spread = (1 - distance) / distance
    return rng.beta(ancestor * spread, (1 - ancestor) * spread)


def genotypes(seed, sizes=(290, 20, 8), n_markers=4000):
    """Copies of an allele (people, markers), and the group of everyone."""
    rng = np.random.default_rng(seed)
    ancestor = rng.uniform(0.05, 0.95, n_markers)
    populations = np.array([drifted(rng, ancestor, 0.1) for _ in range(3)])
    study, distant, batch = sizes
    frequencies = np.vstack(
        [
            rng.dirichlet([1, 1, 1], study) @ populations,
            np.tile(drifted(rng, ancestor, 0.2), (distant, 1)),
            rng.dirichlet([1, 1, 1], batch) @ populations,
        ]
    )
    copies = rng.binomial(2, frequencies)
    wrong_strand = np.flatnonzero(rng.random(n_markers) < 0.08)
    copies[-batch:, wrong_strand] = 2 - copies[-batch:, wrong_strand]
    return copies, np.repeat(GROUPS, sizes)


def standardized(copies):
    """Common markers with mean 0, divided by their standard deviation in one population."""
    frequency = copies.mean(axis=0) / 2
    common = (frequency > 0.02) & (frequency < 0.98)
    p = frequency[common]
    return (copies[:, common] - 2 * p) / np.sqrt(2 * p * (1 - p))


copies, group = genotypes(seed=0)
X = standardized(copies)
good = group == "study"
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
# The loop finds the batch and removes none of the twenty. A group with a share *f* of all people
# cannot be farther than sqrt((1 - f)/f) standard deviations from the mean on any component. For 20
# of 318 people this is 3.9. Only groups of less than 2.7 % can be beyond six.

# %% [check]
assert not removed[group == "distant"].any()
assert removed[group == "batch"].all()
assert round(np.sqrt((1 - 20 / 318) / (20 / 318)), 1) == 3.9

# %% [markdown]
# ## With the number of components given
#
# The shares of three populations need two components. The noise in genotypes is large and there is
# no gap in the variances, so the fit cannot find this number, and we give it.

# %%
from torpca import OutlierRobustPCA

model = OutlierRobustPCA(n_components=2).fit(X)
for name in GROUPS:
    kinds, counts = np.unique(model.outlier_type_[group == name], return_counts=True)
    told = ", ".join(f"{n} {kind}" for kind, n in zip(kinds, counts, strict=True))
    print(f"{name:8s} {told}")

# %% [markdown]
# Read the *types*, not only the labels. A person far out *inside* the subspace is called "good
# leverage": an unusual mixture of the three populations, which the components should show. Leave
# out only the rows *off* the subspace: "orthogonal" and "bad leverage".

# %%
off = np.isin(model.outlier_type_, ["orthogonal", "bad leverage"])
print(f"off the subspace: {off[~good].sum()} of {np.sum(~good)} that should not count, ", end="")
print(f"{off[good].sum()} of {good.sum()} others")

# %% [check]
assert off[~good].all()
assert off[good].sum() <= 6

# %% [markdown]
# Is this the only answer? `stability_` has fits from other starts. They flag the same people, and
# find the same subspace:

# %%
for refit in model.stability_.refits:
    if refit.what == "another start":
        print(f"{refit.what}: {refit.share_changed:.0%} of the labels differ, ", end="")
        print(f"the subspace moved by {refit.subspace_change:.3f}")

# %% [check]
starts = [refit for refit in model.stability_.refits if refit.what == "another start"]
assert len(starts) == 3
assert all(r.share_changed < 0.005 and r.subspace_change < 5e-4 for r in starts)

# %% [markdown]
# The components are those of a study without these samples:

# %%
from sklearn.decomposition import PCA

from torpca.metrics import principal_angles

plain = PCA(2, random_state=0).fit(X)
oracle = PCA(2, random_state=0).fit(X[good])
for name, components in [("ordinary PCA", plain.components_), ("ours", model.components_)]:
    angle = np.degrees(principal_angles(components.T, oracle.components_.T).max())
    print(f"{name:13s} {angle:5.1f} degrees from PCA of the people who should count")

# %% [check]
angles = [
    np.degrees(principal_angles(c.components_.T, oracle.components_.T).max())
    for c in (plain, model)
]
assert angles[0] > 45
assert angles[1] < 0.5

# %%
import matplotlib.pyplot as plt

fig, axes = plt.subplots(
    1,
    2,
    num="Everyone on the first two components. Left: one of them shows the distant group.",
)
shapes = {"study": "o", "distant": "D", "batch": "X"}
colours = {"study": "C0", "distant": "C3", "batch": plt.rcParams["text.color"]}
for ax, title, found in [(axes[0], "ordinary PCA", plain), (axes[1], "OutlierRobustPCA", model)]:
    scores = found.transform(X)
    for name in GROUPS:
        here = scores[group == name]
        ax.scatter(*here.T, s=14, marker=shapes[name], color=colours[name], label=name, lw=0)
    ax.set(title=title, xlabel="component 1", ylabel="component 2")
_ = axes[1].legend(fontsize=8)

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
assert without.transform(X).shape == (318, 2)

# %% [markdown]
# ## When there is more than one answer
#
# Another study has a hundred people of each of three populations, unmixed, and nobody who should
# not count. Then there is no middle with many people, and the fit takes one for it all the same.

# %%
rng = np.random.default_rng(1)
ancestor = rng.uniform(0.05, 0.95, 4000)
unmixed = [rng.binomial(2, drifted(rng, ancestor, 0.03), (100, 4000)) for _ in range(3)]
population = np.repeat(["A", "B", "C"], 100)

separate = OutlierRobustPCA(n_components=2).fit(standardized(np.vstack(unmixed)))
flagged = separate.outlier_type_ != "regular"
off_3 = np.isin(separate.outlier_type_, ["orthogonal", "bad leverage"])
for name in "ABC":
    here = population == name
    print(f"{name}: {flagged[here].sum()} flagged, {off_3[here].sum()} off the subspace")
for refit in separate.stability_.refits:
    if refit.what == "another start":
        print(f"{refit.what}: {refit.share_changed:.0%} of the labels differ, ", end="")
        print(f"the subspace moved by {refit.subspace_change:.3f}")

# %% [check]
starts = [refit for refit in separate.stability_.refits if refit.what == "another start"]
assert max(refit.subspace_change for refit in starts) < 5e-4
by_population = sorted(flagged[population == name].sum() for name in "ABC")
assert by_population[0] <= by_population[1] <= 5
assert by_population[2] >= 95
assert off_3.sum() <= 6

# %% [markdown]
# A whole population is flagged, although each of the others might be as well: no answer is better
# than the other two. The subspace is the same in all of them, and hardly anyone is off it. Here
# other starts come to the same labels; with other people they may not. So where people form groups,
# look at `stability_` and at the types before you believe the labels, and go by the rows off the
# subspace.
#
# A few dozen people of a distant ancestry beside such groups can put the subspace in doubt, too:
# whether they are off it or make one of its directions may depend on the start.
#
# ## What was found
#
# - The loop with six standard deviations removes nobody of the distant group, and never could.
# - With two components, the fit puts all 28 samples off the subspace, and hardly anyone else.
#   It does so from every start.
# - Its components are within half a degree of the components of a study without these samples.
#   The components of ordinary PCA are not.
# - Separate populations have more than one answer, which `stability_` may show. A population may be
#   called "good leverage": look at the type before you remove a row.
