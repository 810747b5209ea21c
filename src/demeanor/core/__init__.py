"""Values, ports (Protocols) and errors shared by several packages. Standard library only."""
