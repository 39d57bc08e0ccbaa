"""What becomes of each tensor of a container, decided before anything is read or written."""
