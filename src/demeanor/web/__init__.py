"""Web pages over the store: templates, style sheet, charts, links, and the server."""
