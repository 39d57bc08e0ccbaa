"""Who agrees with the rules of the ONNX operators: the installed libraries beside exact arithmetic."""
