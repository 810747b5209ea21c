"""The host side of a sandbox: folders of an attempt, arguments, and clients of the supervisors."""
