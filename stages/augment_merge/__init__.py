"""Puts the kept calls of all tools into the texts they belong to (Toolformer's C*, section 2)."""
