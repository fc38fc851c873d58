"""A realistic table to try it on: spectra of samples, some of which are not what they should be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from torpca._atomic import atomic_write

Floats = npt.NDArray[np.float64]

ABOUT = """\
The table has 240 simulated spectra of mixtures of three substances. 13 of them are bad: six
contain a fourth substance, four have a sloping baseline, and three come from a leaking cuvette.
"""
N_SAMPLES, N_CHANNELS = 240, 300
WAVELENGTHS = np.linspace(1100.0, 2000.0, N_CHANNELS)  # nanometres


def peak(center: float, width: float) -> Floats:
    """A band of absorption, (channels,)."""
    return np.exp(-0.5 * ((WAVELENGTHS - center) / width) ** 2)


def spectra(seed: int = 0) -> tuple[Floats, list[str], list[str]]:
    """Spectra (samples, channels) of mixtures, labels of the samples and names of the channels.

    Three substances in varying amounts make the good samples. Of the others, six hold a fourth
    substance, four were measured with a sloping baseline, and three through a cuvette that let
    half of the light by.
    """
    rng = np.random.default_rng(seed)
    pure = np.stack(
        [
            peak(1200, 30) + 0.6 * peak(1700, 45),
            0.8 * peak(1400, 40) + 0.5 * peak(1900, 60),
            0.7 * peak(1550, 25) + 0.4 * peak(1250, 50),
        ]
    )
    amounts = rng.dirichlet([6.0, 4.0, 3.0], N_SAMPLES) * [1.0, 0.9, 0.8]
    X = 0.2 + amounts @ pure + 0.002 * rng.standard_normal((N_SAMPLES, N_CHANNELS))
    bad = rng.permutation(N_SAMPLES)[:13]
    X[bad[:6]] += np.outer(rng.uniform(0.1, 0.2, 6), peak(1660, 15) + 0.5 * peak(1180, 12))
    slope = (WAVELENGTHS - WAVELENGTHS[0]) / (WAVELENGTHS[-1] - WAVELENGTHS[0])
    X[bad[6:10]] += np.outer(rng.uniform(0.1, 0.3, 4), slope)
    X[bad[10:]] *= 0.5
    kinds = dict(zip(bad[:6].tolist(), ["additive"] * 6, strict=True))
    kinds |= dict(zip(bad[6:10].tolist(), ["baseline"] * 4, strict=True))
    kinds |= dict(zip(bad[10:].tolist(), ["cuvette"] * 3, strict=True))
    ids = [f"sample-{i + 1:03d}" + (f" ({kinds[i]})" if i in kinds else "") for i in range(len(X))]
    return X, ids, [f"{w:.0f} nm" for w in WAVELENGTHS]


def write_csv(path: Path) -> Path:
    """Path of a CSV file with the spectra, a sample per line."""
    X, ids, names = spectra()
    lines = [",".join(["sample", *names])]
    lines += [
        ",".join([name, *(f"{v:.6f}" for v in row)]) for name, row in zip(ids, X, strict=True)
    ]
    content = ("\n".join(lines) + "\n").encode()
    return atomic_write(path, lambda file: file.write(content))
