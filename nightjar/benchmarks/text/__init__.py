"""Scores of one text against reference texts: ROUGE and exact match."""
