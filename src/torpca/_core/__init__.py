"""The mathematics: plain functions of row sources and numbers."""
