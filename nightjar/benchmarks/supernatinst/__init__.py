"""Super-NaturalInstructions (facts/1)."""
