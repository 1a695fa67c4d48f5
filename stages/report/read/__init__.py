"""Sources of the report: facts of stages, scores, systems, rankings and the code."""
