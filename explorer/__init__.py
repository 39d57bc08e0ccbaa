"""The explorer: Streamlit pages that show every bit, rounding and saturation. Start it with `lowprec explore`.

    app -> menu, app_pages -> page_layout, charts, components, pictures -> templates -> views -> lowprec

`views` computes what the pages show: pure functions, frozen dataclasses, no Streamlit. `templates` turns it into HTML,
with the files of templates/ and styles/, `charts` into charts, `pictures` into SVG texts to save. A page only arranges.
`page_states` defines the state of a page, `url_query` reads and writes it as a link, `controls` binds widgets to it,
`carry_over` and `menu` copy number and format to the other pages. `code_snippets` writes the Python and ONNX code to
copy.
"""
