"""The entry points once more, compiled without OpenMP: in use where its library is missing (`_instruction_set_choice.py`)."""
include "_kernels.pyx"
