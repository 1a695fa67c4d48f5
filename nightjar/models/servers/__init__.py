"""Clients of models that answer elsewhere, by the OpenAI interface."""
