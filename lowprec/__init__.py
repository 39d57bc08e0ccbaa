"""lowprec: bit-exact ONNX low-precision conversion on the array the caller holds."""
