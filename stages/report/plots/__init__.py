"""Plots as data, which matplotlib draws as SVG for the page and as a file."""
