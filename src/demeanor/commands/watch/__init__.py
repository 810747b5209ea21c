"""`demeanor watch`: judge stored trials again whenever an eval is edited."""
