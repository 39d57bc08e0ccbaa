"""Options of a call, checked once, as plans: what a back end needs to know of a conversion."""
