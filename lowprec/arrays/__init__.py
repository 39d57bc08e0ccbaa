"""Array libraries: which one an array belongs to, and the dtype that carries a format there."""
