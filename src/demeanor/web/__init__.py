"""Web pages over the store: templates, style sheet, charts, links, and a server that trusts nobody."""
