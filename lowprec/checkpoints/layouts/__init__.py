"""How engines name and describe quantized weights: one module to a layout."""
