"""The engine of models in this process: KV cache, forward passes, decoding, samples and log-probabilities.

docs/engine.md explains it.
"""
