"""HTML and SVG with safe escaping of untrusted text."""
