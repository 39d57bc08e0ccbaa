"""The pages: scripts that Streamlit runs; each arranges what its view computes."""
