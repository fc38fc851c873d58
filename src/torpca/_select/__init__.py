"""Choices made from the data: each returns a value and its evidence."""
