"""The files of code that each stage runs."""
