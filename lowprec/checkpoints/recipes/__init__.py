"""What `lowprec convert --recipe` offers: a scheme, the arithmetic of a tool and a layout each."""
