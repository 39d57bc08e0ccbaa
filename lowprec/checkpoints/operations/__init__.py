"""What becomes of one tensor: an operation each, planned first and then carried out chunk by chunk in any order."""
