"""Tables of numbers in files: CSV, TSV, Parquet, NumPy's formats and Zarr, read by chunks."""

from torpca._files.errors import TableError
from torpca._files.read import read_table
from torpca._files.table import FileTable

__all__ = ["FileTable", "TableError", "read_table"]
