"""Output formats: terminal, tables, markdown, JUnit and JSON documents. Knows no command."""
