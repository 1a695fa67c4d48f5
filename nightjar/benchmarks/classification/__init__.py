"""PGRA's eight sentence classification tasks and FEVER: data sets, prompts, label words and metrics."""
