"""Robust statistics: location and scale, cut-offs, outlyingness, scatter, limits."""
