"""Writes the names of the systems of each benchmark."""
