"""Fine-tunes the language model by one recipe, through accelerate."""
