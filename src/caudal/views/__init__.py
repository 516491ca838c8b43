"""Views: a table's changelog topic kept in a local index, to be asked while the application runs.

    app.store("orders-per-user").get("ana")          # of an Application
    open_view("totals", key=String(), value=Long())  # of any topic that is a changelog, without an application

Read in this order: view.py (what one asks), progress.py (how far behind), follower.py (the thread that reads the
topics), index.py (where the data lies), application_views.py (all stores of an application), pages.py and
http_server.py.

A view reads what was committed; it is a little behind the application and says by how much. To read your own write, ask
with `wait`. Deliberately without: queries across machines (each process that asks keeps a copy of its own).
"""

from __future__ import annotations

from caudal.views.application_views import ApplicationViews
from caudal.views.errors import NoChangelog, NotCaughtUp, UnknownStore, ViewError
from caudal.views.progress import Lag
from caudal.views.standalone import open_view
from caudal.views.view import KeyValueView, SessionView, View, WindowView

__all__ = [
    "ApplicationViews",
    "KeyValueView",
    "Lag",
    "NoChangelog",
    "NotCaughtUp",
    "SessionView",
    "UnknownStore",
    "View",
    "ViewError",
    "WindowView",
    "open_view",
]
