"""Output formats: terminal, tables, markdown, JUnit, HTML and JSON documents. Knows no command."""
