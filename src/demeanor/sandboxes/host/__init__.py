"""The client side of the supervisors, in Demeanor's own process: launching programs, workspaces, environments."""
