"""Published data by name: a table of sources, their transfer, and what is recorded of it."""
