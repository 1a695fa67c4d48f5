"""What models are evaluated on: one folder a benchmark, and what all of them share."""
