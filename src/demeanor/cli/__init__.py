"""The command line: options, registry and output that the verbs share, and the program itself."""
