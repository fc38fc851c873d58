"""The command line with all of its commands: importing a command adds it to the group.

What a command runs is imported in the command: --help does not wait for scikit-learn.
"""

from torpca._cli import compare, demo, fit, onnx, report, score
from torpca._cli.group import torpca

__all__ = ["compare", "demo", "fit", "onnx", "report", "score", "torpca"]
