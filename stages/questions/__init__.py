"""Writes a benchmark's questions in one form for all benchmarks."""
