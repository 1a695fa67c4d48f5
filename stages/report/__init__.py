"""The report: pages that open from disk, the numbers of their plots, and the headline for a terminal.

`read/` reads the artifacts, `project/` and `benchmark/` make plain rows and plots of them, and `templates/` has a page
each with its sentences. `pages.py` lists the pages, `site.py` renders them, and `plots/` draws.
"""
