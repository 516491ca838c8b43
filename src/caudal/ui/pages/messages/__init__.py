"""Messages of a topic: searched, followed, written and exported. The tab itself belongs to the topic's page."""

from caudal.ui.pages.messages import exporting

__all__ = ["exporting"]
