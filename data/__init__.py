"""The sample data and the program that writes it (`python -m data.sample_generator`)."""
