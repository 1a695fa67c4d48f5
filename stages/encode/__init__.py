"""Turns the instances that a recipe trains on into token ids, once, for every run that trains on them."""
