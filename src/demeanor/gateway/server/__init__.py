"""The HTTP server: routes, sessions, handlers, recording."""
