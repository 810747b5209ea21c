"""Web pages over the store: templates, style sheet, charts, links, and the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.web.night_file import night_html as night_html
    from demeanor.web.pages.context import PageContext as PageContext
    from demeanor.web.pages.export import export_pages as export_pages
    from demeanor.web.pages.site import DashboardSite as DashboardSite
    from demeanor.web.security import is_loopback as is_loopback
    from demeanor.web.server import ServerOptions as ServerOptions, make_app as make_app

__getattr__ = lazy_names(
    __name__,
    {
        "night_file": "night_html",
        "pages.context": "PageContext",
        "pages.export": "export_pages",
        "pages.site": "DashboardSite",
        "security": "is_loopback",
        "server": "ServerOptions make_app",
    },
)
