"""What formats, opsets and packing are: facts, nothing is converted here."""
