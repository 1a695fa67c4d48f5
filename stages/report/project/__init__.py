"""What the pages show that belong to no benchmark: data, tool calls, training, contamination, provenance."""
