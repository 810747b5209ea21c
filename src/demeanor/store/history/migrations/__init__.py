"""The schema, as SQL files that are applied in the order of their names. A file that was released never changes."""
