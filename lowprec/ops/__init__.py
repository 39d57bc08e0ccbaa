"""The public functions: documentation, checks, one call to the back ends."""
