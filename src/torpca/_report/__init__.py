"""The answer as a page: one HTML file that opens offline and can be sent to a colleague."""

from torpca._report.page import report_html
from torpca._report.write import write_report

__all__ = ["report_html", "write_report"]
