"""Trains readers: one for each task of a benchmark."""
