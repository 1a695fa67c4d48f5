"""Orders the passages of a benchmark's questions by how a language model reads them (Guo et al. 2023)."""
