"""From tallies to decisions, pure: every rule of the product, without a store."""
