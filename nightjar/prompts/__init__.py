"""Text templates and encodings: what a model reads, exact to the character.

`encodings.encode_instance` gives the published input text of a Super-NaturalInstructions instance under an `Encoding`,
`model_text.model_input` the same with retrieved evidence. `encodings.variants` are the five of Tk-Instruct's mixed
training.
"""
