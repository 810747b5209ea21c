"""The bench: the same work with Demeanor, with other tools and with a bare loop, side by side on this machine."""
