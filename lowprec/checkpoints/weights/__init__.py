"""What all engines share: the tensors of quantized weights, their names, and which weights are quantized."""
