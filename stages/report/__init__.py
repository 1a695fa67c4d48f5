"""The report: pages that open from disk, the numbers of their plots, and the headline for a terminal."""
