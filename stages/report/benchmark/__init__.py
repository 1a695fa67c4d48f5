"""Contents of the pages of one benchmark."""
