"""Parts that every stage shares: parameters in, errors as one line, facts out, work that resumes."""
