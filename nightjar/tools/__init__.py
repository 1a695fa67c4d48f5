"""Tools: how calls are written, the tools themselves, and decoding that calls them (Toolformer, sheet 3)."""
