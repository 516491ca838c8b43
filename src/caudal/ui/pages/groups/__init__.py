"""Consumer groups and share groups: the list, one group with its lag and members, the reset of its offsets."""

from caudal.ui.pages.groups import group_page, list_page

__all__ = ["group_page", "list_page"]
