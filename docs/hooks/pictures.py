"""Pictures that the README and the pages share. They are committed, as docs/assets/NAME.svg.

    python -m docs.hooks.pictures

draws them again. In the site they take the colours of the page.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from docs.hooks.figures import INK, in_page, style, svg_of

ASSETS = Path(__file__).resolve().parents[1] / "assets"
IMAGE = re.compile(r"^!\[([^\]]+)\]\((assets/\w+\.svg)\)$", re.MULTILINE)


class Map(NamedTuple):
    """An outlier map in numbers."""

    score: Any
    orthogonal: Any
    limits: tuple[float, float]

    @property
    def flagged(self) -> Any:
        """Rows beyond a limit, (n,)."""
        return (self.score > self.limits[0]) | (self.orthogonal > self.limits[1])


# ---- wines ---------------------------------------------------------------------------------------


def wines() -> tuple[Any, Any]:
    """Measurements (58, 13) of 48 wines of one grower and 10 of others, and which the others are.

    From scikit-learn's wine data; the ten are drawn at random.
    """
    from sklearn.datasets import load_wine  # noqa: PLC0415 (only to draw)

    X, grower = load_wine(return_X_y=True)
    rng = np.random.default_rng(0)
    others = rng.choice(np.flatnonzero(grower != 2), 10, replace=False)
    rows = np.concatenate([np.flatnonzero(grower == 2), others])
    return X[rows], grower[rows] != 2


def ordinary_map(X: Any, k: int) -> Map:
    """Outlier map of ordinary PCA of the standardised rows, with the usual limits.

    They are what one good Gaussian row in two hundred exceeds: of score distances by the chi-square
    law, of orthogonal distances by the Gaussian law of the cube roots of their squares (Hubert,
    Rousseeuw and Vanden Branden 2005), with mean and standard deviation.
    """
    from scipy.stats import chi2, norm  # noqa: PLC0415 (only to draw)
    from sklearn.decomposition import PCA  # noqa: PLC0415

    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    pca = PCA(k).fit(Z)
    scores = pca.transform(Z)
    inside = np.linalg.norm(scores / np.sqrt(pca.explained_variance_), axis=1)
    outside = np.linalg.norm(Z - pca.inverse_transform(scores), axis=1)
    roots = outside ** (2 / 3)
    limit = (roots.mean() + norm.ppf(0.995) * roots.std()) ** 1.5
    return Map(inside, outside, (float(np.sqrt(chi2.ppf(0.995, k))), float(limit)))


def robust_map(X: Any, k: int) -> Map:
    """Outlier map of `OutlierRobustPCA`."""
    from torpca import OutlierRobustPCA  # noqa: PLC0415

    with warnings.catch_warnings():
        # So few rows: some labels of the grower's own wines depend on the start.
        warnings.filterwarnings("ignore", message="OutlierRobustPCA", category=RuntimeWarning)
        model = OutlierRobustPCA(k, scale=True).fit(X)
    limits = model.cutoffs_["score"], model.cutoffs_["orthogonal"]
    return Map(model.score_distances_, model.orthogonal_distances_, limits)


def found(drawn: Map, foreign: Any) -> str:
    """How many foreign wines a map flags, and how many others, in words."""
    flagged = drawn.flagged
    return (
        f"{flagged[foreign].sum()} of {foreign.sum()} found, {flagged[~foreign].sum()} false alarm"
    )


def wine_maps() -> Any:
    """Ordinary PCA and ours beside each other."""
    import matplotlib.pyplot as plt  # noqa: PLC0415 (only to draw)

    X, foreign = wines()
    figure, axes = plt.subplots(1, 2, figsize=(9.0, 4.0))
    for ax, name, drawn in [
        (axes[0], "Ordinary PCA", ordinary_map(X, 2)),
        (axes[1], "torpca", robust_map(X, 2)),
    ]:
        for rows, words, look in [
            (~foreign, "48 wines of one grower", {"color": "C0", "s": 20}),
            (foreign, "10 wines of other growers", {"color": "C3", "s": 30, "marker": "D"}),
        ]:
            ax.scatter(drawn.score[rows], drawn.orthogonal[rows], label=words, lw=0, **look)
        ax.axvline(drawn.limits[0], ls="--", lw=0.9, color=INK)
        ax.axhline(drawn.limits[1], ls="--", lw=0.9, color=INK)
        ax.set(xlim=0, ylim=0, xlabel="score distance", ylabel="orthogonal distance")
        ax.set_title(f"{name}: {found(drawn, foreign)}", fontsize=11, pad=14)
        ax.text(drawn.limits[0], ax.get_ylim()[1], "limit", ha="center", va="bottom", fontsize=8)
        ax.text(ax.get_xlim()[1], drawn.limits[1], "limit", ha="left", va="center", fontsize=8)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


# ---- the user guide's map ------------------------------------------------------------------------


def outlier_map() -> Any:
    """An outlier map with rows of all four kinds, and what the kinds mean."""
    import matplotlib.pyplot as plt  # noqa: PLC0415 (only to draw)

    from torpca import OutlierRobustPCA  # noqa: PLC0415
    from torpca.plots import OutlierMapDisplay  # noqa: PLC0415

    rng = np.random.default_rng(1)
    directions = rng.normal(size=(2, 10))
    scores = rng.normal(size=(240, 2))
    scores[:14] *= 5 / np.linalg.norm(scores[:14], axis=1, keepdims=True)  # far out, in line
    scores[:14] *= rng.uniform(0.9, 1.5, (14, 1))
    X = scores @ directions + 0.4 * rng.normal(size=(240, 10))
    X[7:14] += rng.uniform(0.9, 1.3, (7, 10)) * rng.choice([-1, 1], 10)  # and off
    X[14:30] += rng.normal(0, 0.8, (16, 10))  # off alone
    figure, ax = plt.subplots(figsize=(7.2, 4.4))
    model = OutlierRobustPCA(2).fit(X)
    display = OutlierMapDisplay.from_estimator(model, X, ax=ax, n_labels=0, legend=False)
    score, orthogonal = display.limits["score"], display.limits["orthogonal"]
    right, top = ax.get_xlim()[1], 1.18 * ax.get_ylim()[1]
    ax.set_ylim(0, top)
    for x, y, name, meaning in [
        (score / 2, 0.97 * top, "orthogonal", "off the subspace"),
        ((score + right) / 2, 0.97 * top, "bad leverage", "off the subspace and far out"),
        (score / 2, 0.22 * orthogonal, "regular", "within both limits"),
        ((score + right) / 2, 0.22 * orthogonal, "good leverage", "far out inside the subspace"),
    ]:
        ax.text(x, y, name, ha="center", va="top", weight="bold")
        ax.text(x, y - 0.055 * top, meaning, ha="center", va="top", fontsize=8.5)
    return figure


# ---- writing them, and showing them --------------------------------------------------------------

PICTURES = {"wine_maps": wine_maps, "outlier_map": outlier_map}


def draw(name: str) -> str:
    """A picture as SVG, on white."""
    import matplotlib  # noqa: PLC0415 (only to draw)

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    with matplotlib.rc_context({**style(), "savefig.facecolor": "white"}):
        svg = svg_of(PICTURES[name]())
        plt.close("all")
    return svg


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Put pictures of the assets into the page itself, where they take its colours."""
    del page, config, files

    def shown(image: re.Match[str]) -> str:
        path = ASSETS.parent / image[2]
        return in_page(path.read_text(encoding="utf-8"), image[1])

    return IMAGE.sub(shown, markdown)


if __name__ == "__main__":
    for name in PICTURES:
        (ASSETS / f"{name}.svg").write_text(draw(name), encoding="utf-8")
        print(f"docs/assets/{name}.svg")
