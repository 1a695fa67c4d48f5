"""The report: one page that opens from disk, the same as Markdown, and the headline for a terminal."""
