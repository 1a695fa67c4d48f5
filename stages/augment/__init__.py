"""Adds tool calls to texts where they help the model to go on: sample, execute, filter (Toolformer, section 2)."""
