"""Contamination: which test instances share runs of words with the texts that a model trains on."""
