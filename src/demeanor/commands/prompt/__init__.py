"""`demeanor prompt`: list the instructions that an agent really sends to its model, with their ids."""
