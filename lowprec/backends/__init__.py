"""Everything that carries out a plan: compiled loops, CUDA, Dask, array-API calls, text."""
