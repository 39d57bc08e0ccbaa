"""Mutants: one change of one line each, to see whether a test notices it."""
