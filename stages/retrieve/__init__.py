"""Finds the passages that go with every training and test instance."""
