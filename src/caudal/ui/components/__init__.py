"""Small pieces that pages are made of.

Pages import them from here; each has a file of its own. The classes of `static/caudal.css` style them; there is no
Tailwind in the page.
"""

from caudal.ui.components.cards import card, empty_state, facts, grid, h2, missing_server, stat, text
from caudal.ui.components.code import code_view, json_view
from caudal.ui.components.confirm import confirm, confirm_by_name
from caudal.ui.components.copying import copy_button, copy_link
from caudal.ui.components.errors import error_panel, guarded, notify_error, notify_success
from caudal.ui.components.formats import ago, clock, duration, number, percent, rate, size
from caudal.ui.components.location import query_parameter, set_query, url
from caudal.ui.components.plot import LinePlot, line_plot
from caudal.ui.components.status import badge, status_dot
from caudal.ui.components.table import Column, Page, PagedTable, Query, page_of
from caudal.ui.components.tabs import link_tabs

__all__ = [
    "Column",
    "LinePlot",
    "Page",
    "PagedTable",
    "Query",
    "ago",
    "badge",
    "card",
    "clock",
    "code_view",
    "confirm",
    "confirm_by_name",
    "copy_button",
    "copy_link",
    "duration",
    "empty_state",
    "error_panel",
    "facts",
    "grid",
    "guarded",
    "h2",
    "json_view",
    "line_plot",
    "link_tabs",
    "missing_server",
    "notify_error",
    "notify_success",
    "number",
    "page_of",
    "percent",
    "query_parameter",
    "rate",
    "set_query",
    "size",
    "stat",
    "status_dot",
    "text",
    "url",
]
