"""Reading comprehension in the form of SQuAD: the answer to a question is a span of the passage beside it."""
