"""Errors, files, Parquet tables, contracts, parameters and the journal: what every other layer uses."""
