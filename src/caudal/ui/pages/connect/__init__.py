"""Connect: what runs, one connector, and the form that makes or changes one."""

from caudal.ui.pages.connect import connector, editing, overview

__all__ = ["connector", "editing", "overview"]
