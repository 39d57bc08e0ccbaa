"""How the numbers of weights are stored, and the arithmetic that gives them their values."""
