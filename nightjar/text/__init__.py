"""Scores of a text against reference texts: ROUGE, exact match and F1."""
