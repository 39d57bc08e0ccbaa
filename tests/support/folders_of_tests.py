"""Which folders in tests/ test which folder of the package."""

FOLDERS = {  # folder of the package -> the folders of tests that test it
    "_native": {"native", "backends"},
    "spec": {"spec", "ops"},
    "reference": {"reference"},
    "teaching": {"teaching"},
    "arrays": {"arrays", "spec"},
    "plans": {"spec", "ops"},
    "backends": {"backends", "native", "ops"},
    "ops": {"ops", "torch_ops", "backends", "spec"},
    "loss": {"loss"},
    "onnx": {"onnx_models"},  # a folder `onnx` would be imported where ONNX's package is missing
    "conformance": {"conformance"},
    "checkpoints": {"checkpoints", "proof"},
    "cli": {"cli"},
    "explorer": {"explorer"},
}
