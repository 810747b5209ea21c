"""Files and folders: trees of them, written atomically and safely."""
