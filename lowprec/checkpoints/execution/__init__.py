"""Carrying out a plan: the steps in their order, threads or Dask, one worker."""
