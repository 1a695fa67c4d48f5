"""Contents of the pages that belong to no benchmark: data, tool calls, training, contamination, provenance."""
