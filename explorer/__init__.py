"""The explorer: a Streamlit app in which every bit, rounding and saturation can be seen.

    app -> menu, app_pages -> render, components -> subject, state, theme, snippets -> views -> lowprec

`views` computes (pure functions, frozen dataclasses, no Streamlit); a page only arranges. Start: `lowprec explore`.
"""
