"""Which folder of tests tests which part of the package."""

FOLDERS = {  # folder of the package -> the folders of tests that test it
    "_native": {"native", "cuda"},
    "spec": {"spec", "quantize"},
    "reference": {"reference"},
    "teaching": {"teaching"},
    "arrays": {"libraries", "spec"},
    "plans": {"spec", "cast", "quantize"},
    "backends": {"native", "cuda", "libraries"},
    "ops": {"cast", "quantize", "libraries", "spec"},
    "loss": {"loss"},
    "onnx": {"onnx_models"},  # a folder `onnx` would be imported where ONNX's package is missing
    "conformance": {"conformance"},
    "checkpoints": {"checkpoints", "proof"},
    "cli": {"cli"},
    "explorer": {"explorer"},
}
