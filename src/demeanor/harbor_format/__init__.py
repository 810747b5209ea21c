"""Files that Harbor writes: results and ATIF trajectories."""
