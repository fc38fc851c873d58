# %% [markdown]
# # Sensors: learn from a history with faults, then watch
#
# A pump has ten sensors. A month of history contains a stuck thermometer, a drifting flow meter,
# spikes and a stop. Nobody has marked them. From tomorrow on, we want to judge each reading by
# limits that do not move.
#
# **What to look for:** limits learned from the whole history detect a new fault much later. They
# are too wide, because they were learned from faults too.

# %% [markdown]
# ## The data
#
# Load, level and heat drift slowly. All ten sensors follow these three, each in its own unit.

# %%
import numpy as np

SENSORS = {  # unit, usual value, size of its changes, and how it follows load, level and heat
    "inlet": ("bar", 3.0, 0.4, (0.5, 0.1, 0.0)),
    "outlet": ("bar", 5.0, 0.6, (0.8, -0.2, 0.0)),
    "flow": ("l/s", 120.0, 12.0, (0.9, 0.3, 0.0)),
    "speed": ("rpm", 1450.0, 150.0, (1.0, 0.0, 0.0)),
    "current": ("A", 18.0, 3.0, (0.9, 0.2, 0.1)),
    "motor": ("C", 65.0, 8.0, (0.4, 0.0, 0.9)),
    "bearing": ("C", 55.0, 6.0, (0.3, 0.1, 0.8)),
    "vibration": ("mm/s", 2.5, 0.5, (0.6, 0.1, 0.2)),
    "tank": ("m", 1.8, 0.3, (0.0, 0.9, 0.0)),
    "valve": ("%", 45.0, 15.0, (0.2, -0.9, 0.0)),
}
NAMES = list(SENSORS)
USUAL, SIZE = (np.array([s[i] for s in SENSORS.values()]) for i in (1, 2))
FOLLOWS = np.array([s[3] for s in SENSORS.values()])


def readings(n, rng):
    """Readings (n, 10) of a healthy pump."""
    memory = np.array([0.98, 0.95, 0.9])
    state, states = np.zeros(3), []
    for shock in rng.normal(size=(n, 3)):
        state = memory * state + np.sqrt(1 - memory**2) * shock
        states.append(state)
    return USUAL + SIZE * (np.array(states) @ FOLLOWS.T + 0.1 * rng.normal(size=(n, 10)))


rng = np.random.default_rng(0)
history = readings(3000, rng)
history[400:520, NAMES.index("motor")] = history[400, NAMES.index("motor")]  # stuck
history[1500:1600, NAMES.index("flow")] += np.linspace(0, 60, 100)  # drifts off
spikes = rng.choice(3000, 40, replace=False)
history[spikes, NAMES.index("vibration")] += rng.uniform(3, 8, 40)
stop = np.array([0.2, 0.1, 0, 0, 0, 0.5, 0.5, 0.1, 1, 1])
history[2500:2560] = USUAL * stop + 0.1 * SIZE * rng.normal(size=(60, 10))  # a stop

faulty = np.zeros(3000, dtype=bool)
for rows in (slice(400, 520), slice(1500, 1600), spikes, slice(2500, 2560)):
    faulty[rows] = True
print(f"{len(history):,} readings, {faulty.sum()} of them from some fault")

# %% [markdown]
# ## Learn
#
# The sensors have different units, so we use `scale=True`: each is divided by a robust standard
# deviation. The fit is not told which readings are faulty.

# %% [check]
import warnings

# A faulty sensor is a bad cell or two in each row, and the fit says so.
warnings.filterwarnings("ignore", message=".*in only one or two cells", category=RuntimeWarning)

# %%
from torpca import OutlierRobustPCA

model = OutlierRobustPCA(scale=True).fit(history)
flagged = model.predict(history) == -1
print(f"{model.n_components_} components, by {model.rank_.rule}: load, level and heat")
for name, rows in [
    ("stuck thermometer", slice(400, 520)),
    ("drifting flow", slice(1500, 1600)),
    ("spikes", spikes),
    ("stop", slice(2500, 2560)),
    ("all other readings", ~faulty),
]:
    print(f"  {name:20s} {flagged[rows].mean():5.0%} flagged")

# %% [check]
assert model.n_components_ == 3
assert flagged[spikes].all()
assert flagged[2500:2560].all()
assert flagged[1500:1600].mean() > 0.75
assert flagged[400:520].mean() > 0.3
assert flagged[~faulty].mean() < 0.03

# %% [markdown]
# Half of the readings of the stuck thermometer are not flagged, and they should not be. While the
# motor *is* as warm as the thermometer says, the reading is right.
#
# ## Watch
#
# New readings are judged by the centre, the directions and the limits of the model. The verdict on
# a reading does not depend on other new readings. "Good leverage" means an unusual load at which
# all sensors still agree. That is not a fault. Readings *off* the subspace are faults. Tomorrow the
# bearing slowly gets hot, from reading 800 on.

# %%
tomorrow = readings(2000, rng)
tomorrow[800:, NAMES.index("bearing")] += np.linspace(0, 20, 1200)
alarms = np.isin(model.outlier_types(tomorrow), ["orthogonal", "bad leverage"])


def first_alarm(alarms, in_a_row=10):
    """Number of the reading at which so many in a row have been flagged."""
    run = np.convolve(alarms, np.ones(in_a_row), "valid")
    return int(np.argmax(run == in_a_row)) + in_a_row - 1


early = first_alarm(alarms)
print(f"{alarms[:800].mean():.1%} of the first 800 readings are alarms")
print(f"ten in a row at reading {early}, the bearing {20 * (early - 800) / 1200:.1f} C too hot")

# %% [markdown]
# Which sensor?

# %%
parts = model.contributions(tomorrow[1200:][alarms[1200:]]).orthogonal.sum(axis=0)
for j in np.argsort(-parts)[:3]:
    print(f"  {NAMES[j]:10s} {parts[j] / parts.sum():4.0%} of the distance")

# %% [check]
assert 800 < early < 1200
assert NAMES[int(parts.argmax())] == "bearing"
assert alarms[:800].mean() < 0.03

# %% [markdown]
# Second is the motor's thermometer. It is the other sensor that follows the heat, so when the two
# disagree, they share the distance. `explain` is better at naming the faulty one.
#
# Here is the same with ordinary PCA, with a limit learned from the same history:

# %%
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

scaler = StandardScaler().fit(history)
plain = PCA(3).fit(scaler.transform(history))


def residuals(X):
    Z = scaler.transform(X)
    return np.linalg.norm(Z - plain.inverse_transform(plain.transform(Z)), axis=1)


roots = residuals(history) ** (2 / 3)
limit = (roots.mean() + 2.576 * roots.std()) ** 1.5
late = first_alarm(residuals(tomorrow) > limit)
print(f"ten in a row at reading {late}, the bearing {20 * (late - 800) / 1200:.1f} C too hot")

# %% [check]
assert late > early + 300

# %%
import matplotlib.pyplot as plt

fig, axes = plt.subplots(
    2,
    1,
    sharex=True,
    num="Distance of tomorrow's readings over its limit; the bearing warms from 800 on.",
)
ours = model.distances(tomorrow).orthogonal / model.cutoffs_["orthogonal"]
for ax, title, distance in [
    (axes[0], "ordinary PCA", residuals(tomorrow) / limit),
    (axes[1], "OutlierRobustPCA", ours),
]:
    ax.scatter(
        np.arange(2000), distance, s=2, c=np.where(distance > 1, "C3", "C0"), rasterized=True
    )
    ax.axhline(1, ls="--", lw=0.8, color=plt.rcParams["text.color"])
    ax.axvline(800, lw=0.8, color="C2")
    ax.set(title=title, ylabel="distance / limit")
_ = axes[1].set_xlabel("reading")

# %% [markdown]
# ## What was found
#
# - From a history with faults, the fit finds three components: load, level and heat.
# - It detects the hot bearing hundreds of readings earlier than limits that were learned from the
#   faults too.
# - The contributions name the bearing.
# - Wait for several alarms in a row before you call anyone: one good reading in a hundred is beyond
#   a limit.
