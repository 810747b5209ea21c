"""HTML and SVG that hostile text can not break."""
