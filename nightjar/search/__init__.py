"""Search: a sentence encoder, a dense and a lexical index, and the fusion of their rankings (sheet 4)."""
