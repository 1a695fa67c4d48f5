"""What the report reads: facts of stages, scores, systems, rankings and the code."""
