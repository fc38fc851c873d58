"""Where rows live: one small class per kind, all answering the same verbs."""

from torpca._sources.base import RowSource
from torpca._sources.views import Centered, Columns, Deflated, Scaled, Weighted
from torpca._sources.wrap import as_source

__all__ = ["Centered", "Columns", "Deflated", "RowSource", "Scaled", "Weighted", "as_source"]
