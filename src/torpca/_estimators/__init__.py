"""The scikit-learn face of the algorithms."""
