"""Seeded generator of `data/sample/`: task files in the Super-NaturalInstructions format and a small corpus.

Standard library only, so that the sample can be made again on any machine, byte for byte.
"""
