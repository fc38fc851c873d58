"""Benchmarks: each module prints one table and writes one file under results/."""
