"""What a report was made from and by what, and what was so at the fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Provenance:
    """Version, date, command, file and options behind an answer; empty is what is not known."""

    version: str = ""
    made: str = ""
    """When, such as 2024-05-06 07:08 UTC."""
    command: str = ""
    file: str = ""
    sha256: str = ""
    """Of the file, in hexadecimal."""
    model: str = ""
    """The model that judged the rows, if it was there before."""
    folder: str = ""
    """Folder of the results, of the fit or of the model."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Parameters of the estimator that are not what they are by default."""


@dataclass(frozen=True)
class Baseline:
    """Rows of the fit by which a model judges new ones, and how many of them were flagged."""

    n_rows: int
    n_flagged: int

    @property
    def share(self) -> float:
        """Share of the rows of the fit that were flagged."""
        return self.n_flagged / max(self.n_rows, 1)
