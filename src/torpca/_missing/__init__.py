"""Rows with missing cells, and what a model says of them."""
