"""What compares the compiled loops of other architectures with those of x86-64 and with the oracle."""
