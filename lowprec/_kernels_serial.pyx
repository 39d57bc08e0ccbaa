"""The entry points once more, compiled without OpenMP: for where its library is missing."""
include "_kernels.pyx"
