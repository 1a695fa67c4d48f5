"""Plots as data: one specification that the page draws with Observable Plot, and matplotlib as a file for print."""
