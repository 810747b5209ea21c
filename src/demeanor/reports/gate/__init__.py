"""May this change merge? The gate in rounds, and its report."""
