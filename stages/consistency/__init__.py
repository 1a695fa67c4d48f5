"""Measures whether the passages of a ranking have the label of their question."""
