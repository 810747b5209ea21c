"""Programs that run on the other side: the fork server and the supervisors. They import the standard library only."""
