"""The explorer: a Streamlit app in which every bit, rounding and saturation can be seen.

    app -> app_pages -> render, components -> state, theme, snippets -> views -> lowprec

`views` computes (pure functions, frozen dataclasses, no Streamlit); a page only arranges. Start: `lowprec explore`.
"""
