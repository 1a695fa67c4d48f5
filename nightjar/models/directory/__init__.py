"""Model directories: their weights and configurations, checked before a model is made of them."""
