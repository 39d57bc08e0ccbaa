"""Containers, one module each: where the tensors of a file or a folder are, and where those of a new one go."""
