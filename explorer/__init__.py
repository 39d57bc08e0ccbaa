"""The explorer: Streamlit pages that show every bit, rounding and saturation. Start it with `lowprec explore`.

    app -> pages -> shared -> lowprec

A page is a folder of `pages`; no page imports another, and what two use is in `shared`. In a page, `view` computes what
is shown: pure functions, frozen dataclasses, no Streamlit. `state` says what a link to the page holds, `picture` makes
SVG texts, `chart` charts, `snippets` the Python and ONNX code to copy; templates turn what is computed into HTML.
`page` only arranges.
"""
