"""`demeanor adopt`: turn a session in which an agent did the wrong thing into an eval."""
