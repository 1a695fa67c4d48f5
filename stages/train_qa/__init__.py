"""Trains extractive readers, which point at the answer in a passage."""
