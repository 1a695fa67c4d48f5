"""Intervals, paired tests, multiple comparisons and verdicts for any statistic of instances."""
