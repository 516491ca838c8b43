"""The topics: their list, and one topic with its tabs."""

from caudal.ui.pages.topics import listing, topic

__all__ = ["listing", "topic"]
