"""Where agents run, cut off from the host as far as each level promises."""
