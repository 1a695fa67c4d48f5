"""Scores of predictions: no model runs here, so old predictions and other people's can be scored again."""
