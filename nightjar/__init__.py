"""The library of Nightjar: see docs/library.md."""
