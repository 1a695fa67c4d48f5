"""What Nightjar computes: plain functions from tables to tables, one folder a stage of the graph."""
