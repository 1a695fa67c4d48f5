"""Orders the passages of a benchmark's questions by how a language model reads them (facts 4.3)."""
