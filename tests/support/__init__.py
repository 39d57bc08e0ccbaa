"""What tests of several folders share: cases, files, array libraries, processes. Nothing here is a test."""
