"""Pictures that the README and the pages share. They are committed, as docs/assets/NAME.svg.

    python -m docs.hooks.pictures

draws them again, and prints what the words beside the wines must say. In the site pictures take the
colours of the page.

    python -m docs.hooks.pictures --draws 20

says what becomes of the wines if other ones are drawn.
"""

from __future__ import annotations

import argparse
import re
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from docs.hooks.figures import INK, in_page, style, svg_of

ASSETS = Path(__file__).resolve().parents[1] / "assets"
HOME = ASSETS.parent / "index.md"
# Wines among those of one grower that are of the others.
FOREIGN = 10
CODE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
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


def wines(own: int = 2, seed: int = 0) -> tuple[Any, Any]:
    """Measurements (n, 13) of wines of one grower and ten of others, and which are others (n,).

    From scikit-learn's wine data; the ten are drawn at random. Grower 2 has 48 wines.
    """
    from sklearn.datasets import load_wine  # noqa: PLC0415 (only to draw)

    X, grower = load_wine(return_X_y=True)
    rng = np.random.default_rng(seed)
    others = rng.choice(np.flatnonzero(grower != own), FOREIGN, replace=False)
    rows = np.concatenate([np.flatnonzero(grower == own), others])
    return X[rows], grower[rows] != own


def ordinary_map(X: Any, k: int, of: Any = None) -> Map:
    """Outlier map of ordinary PCA of the standardised rows, or of some `of` them, by usual limits.

    They are what one good Gaussian row in two hundred exceeds: of score distances by the chi-square
    law, of orthogonal distances by the Gaussian law of the cube roots of their squares (Hubert,
    Rousseeuw and Vanden Branden 2005), with mean and standard deviation.
    """
    from scipy.stats import chi2, norm  # noqa: PLC0415 (only to draw)
    from sklearn.decomposition import PCA  # noqa: PLC0415

    some = slice(None) if of is None else of
    Z = (X - X[some].mean(axis=0)) / X[some].std(axis=0)
    pca = PCA(k).fit(Z[some])
    scores = pca.transform(Z)
    inside = np.linalg.norm(scores / np.sqrt(pca.explained_variance_), axis=1)
    outside = np.linalg.norm(Z - pca.inverse_transform(scores), axis=1)
    roots = outside[some] ** (2 / 3)
    limit = (roots.mean() + norm.ppf(0.995) * roots.std()) ** 1.5
    return Map(inside, outside, (float(np.sqrt(chi2.ppf(0.995, k))), float(limit)))


def first_lines(page: str) -> str:
    """The first Python code of a page: the lines that stand under the picture of the wines."""
    code = CODE.search(page)
    assert code is not None, "The page shows no Python code."
    return code[1]


def model_of(lines: str, X: Any) -> Any:
    """The `model` that lines of code make of rows X."""
    names: dict[str, Any] = {"X": X}
    exec(compile(lines, "docs/index.md", "exec"), names)
    return names["model"]


def robust_map(model: Any) -> Map:
    """Outlier map of a fitted `OutlierRobustPCA`."""
    limits = model.cutoffs_["score"], model.cutoffs_["orthogonal"]
    return Map(model.score_distances_, model.orthogonal_distances_, limits)


def maps_of_wines() -> tuple[dict[str, Map], Any]:
    """Both maps by their names, torpca's by the lines on the home page; which wines are foreign."""
    X, foreign = wines()
    model = model_of(first_lines(HOME.read_text(encoding="utf-8")), X)
    plain = ordinary_map(X, model.n_components_)
    return {"Ordinary PCA": plain, "torpca": robust_map(model)}, foreign


def counts(flagged: Any, foreign: Any) -> tuple[int, int]:
    """How many foreign wines are flagged, and how many others."""
    return int(flagged[foreign].sum()), int(flagged[~foreign].sum())


def found(drawn: Map, foreign: Any) -> str:
    """How many foreign wines a map flags, and how many others, in words."""
    hits, others = counts(drawn.flagged, foreign)
    return f"{hits} of {foreign.sum()} found, {alarms(others)}"


def alarms(n: int) -> str:
    """`n` false alarms in words."""
    return f"{n} false alarm{'' if n == 1 else 's'}"


def wine_words() -> list[str]:
    """What the README and the home page must say of the wines."""
    from torpca import OutlierRobustPCA  # noqa: PLC0415 (only to draw)

    drawn, foreign = maps_of_wines()
    said = []
    for who, one in drawn.items():
        hits, others = counts(one.flagged, foreign)
        said.append(f"{who} finds {hits} of the {FOREIGN}, with {alarms(others)}")
    unscaled = OutlierRobustPCA().fit(wines()[0])
    hits, _ = counts(robust_map(unscaled).flagged, foreign)
    return [*said, f"`OutlierRobustPCA().fit(X)` finds {hits} of the {FOREIGN}"]


def check_wine_words(page: str) -> None:
    """An error unless a page says what the maps of the wines show."""
    told = " ".join(page.split())
    for words in wine_words():
        assert words in told, f"The page with the wines does not say: {words}"


def over_draws(n_draws: int) -> list[str]:
    """What is found on average if other foreign wines are drawn, for each grower's own wines."""
    lines, said = first_lines(HOME.read_text(encoding="utf-8")), []
    for own in (2, 0, 1):
        by_us, by_plain = [], []
        for seed in range(n_draws):
            X, foreign = wines(own, seed)
            with warnings.catch_warnings():
                # Of some draws labels depend on the start; here only their number is of interest.
                warnings.filterwarnings("ignore", message="OutlierRobustPCA")
                model = model_of(lines, X)
            by_us.append(counts(robust_map(model).flagged, foreign))
            by_plain.append(counts(ordinary_map(X, model.n_components_).flagged, foreign))
        (ours, ours_false), (plain, plain_false) = np.mean(by_us, axis=0), np.mean(by_plain, axis=0)
        said.append(
            f"grower {own}: torpca {ours:.1f} of {FOREIGN} and {ours_false:.1f} false alarms, "
            f"ordinary PCA {plain:.1f} and {plain_false:.1f}"
        )
    return said


def wine_maps() -> Any:
    """Ordinary PCA and ours beside each other."""
    import matplotlib.pyplot as plt  # noqa: PLC0415 (only to draw)

    maps, foreign = maps_of_wines()
    figure, axes = plt.subplots(1, 2, figsize=(9.0, 4.0))
    for ax, (name, drawn) in zip(axes, maps.items(), strict=True):
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
    if "assets/wine_maps.svg" in markdown:
        check_wine_words(markdown)

    def shown(image: re.Match[str]) -> str:
        path = ASSETS.parent / image[2]
        return in_page(path.read_text(encoding="utf-8"), image[1])

    return IMAGE.sub(shown, markdown)


def main() -> None:
    """Draw the pictures, or other wines."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--draws", type=int, help="draw other foreign wines so many times")
    draws = parser.parse_args().draws
    if draws:
        print(*over_draws(draws), sep="\n")
        return
    for name in PICTURES:
        (ASSETS / f"{name}.svg").write_text(draw(name), encoding="utf-8")
        print(f"docs/assets/{name}.svg")
    print(*wine_words(), sep="\n")


if __name__ == "__main__":
    main()
