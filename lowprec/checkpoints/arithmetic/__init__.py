"""The numbers of a tensor: cut into chunks, cast or quantized, with their scales and error statistics."""
