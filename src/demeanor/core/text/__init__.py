"""Text: shortened, compared, encoded, matched."""
