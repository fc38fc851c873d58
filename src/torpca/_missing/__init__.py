"""Rows with holes: cells that were not observed, and what a model says of them."""
