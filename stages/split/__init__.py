"""Split: categories, tracks and the leakage rule decide which tasks train and which test."""
