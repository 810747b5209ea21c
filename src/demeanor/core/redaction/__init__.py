"""Removes secrets from everything that is stored.

`redactor` finds and replaces secrets in text, bytes and streams; `values` applies it to whole values. `encodings` lists
the encodings of a known secret, `key_patterns` the formats of vendors' API keys.
"""
