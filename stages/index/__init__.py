"""Cuts the corpus into passages and indexes them, dense (FAISS) and lexical (BM25)."""
