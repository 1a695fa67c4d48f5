"""Ingest: reads a dataset's own files into Parquet. What it refuses is kept, with the reason."""
