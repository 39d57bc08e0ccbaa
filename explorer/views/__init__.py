"""What the pages show, computed: pure functions to frozen dataclasses, from lowprec's own functions alone."""
