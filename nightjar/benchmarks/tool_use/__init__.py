"""Toolformer's evaluations (Schick et al. 2023, section 4.2): arithmetic, open questions and dates."""
