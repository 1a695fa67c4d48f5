"""Text templates and encodings: what a model is shown, exact to the character."""
