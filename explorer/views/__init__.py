"""Views: pure functions that compute what the pages show, as frozen dataclasses, with the functions of lowprec."""
