"""Fuzzing of the readers of checkpoints: first files, mutations that know the formats, and what may come of one."""
