"""The night report as one HTML file that needs nothing else: no script, no network, nothing beside it."""

from demeanor.commands.report.html.page import night_html

__all__ = ["night_html"]
