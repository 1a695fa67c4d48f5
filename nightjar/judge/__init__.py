"""Blind comparison of two sets of answers by people: pages, verdicts, agreement."""
