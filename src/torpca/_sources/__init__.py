"""Where rows live: one small class per kind, all answering the same verbs."""

from torpca._sources.base import RowSource
from torpca._sources.views import Centered, Deflated, Scaled
from torpca._sources.wrap import as_source

__all__ = ["Centered", "Deflated", "RowSource", "Scaled", "as_source"]
