"""Random calls of the public API, each with what the oracle expects of it; `tests/proof/check_random_calls.py` runs."""
