"""One package per command: options, workflow, rules, report values and rendering."""
