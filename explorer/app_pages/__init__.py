"""The pages: one script for each, run by Streamlit; it arranges what its view computes."""
