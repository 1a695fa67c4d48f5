"""Super-NaturalInstructions (Wang et al. 2022)."""
