"""Files on the disk: which links are followed, writing aside, renaming when whole, errors that name a file."""
