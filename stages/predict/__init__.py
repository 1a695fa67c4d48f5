"""Answers a benchmark's instances with one system; scoring is another stage."""
