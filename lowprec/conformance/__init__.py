"""Which installed libraries follow the rules of the ONNX operators, by comparison with exact arithmetic."""
