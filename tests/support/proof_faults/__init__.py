"""Faults of the system under `lowprec convert`: what makes them, the conversions that meet them, and the rule."""
