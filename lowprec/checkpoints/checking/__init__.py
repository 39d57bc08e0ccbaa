"""Whether engines would read a checkpoint as it is meant: one module to a kind of question."""
