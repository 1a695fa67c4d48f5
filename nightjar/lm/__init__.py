"""Language models: load them, score texts with them, generate with them."""
