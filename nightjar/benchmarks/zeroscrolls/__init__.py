"""ZeroSCROLLS (Shaham et al. 2023): ten tasks on long documents without training data."""
