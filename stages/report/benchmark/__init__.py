"""What the pages of one benchmark show."""
