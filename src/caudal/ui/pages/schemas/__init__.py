"""The Schema Registry: subjects, versions and their comparison, registering, compatibility levels and modes."""

from caudal.ui.pages.schemas import list_page, subject_page

__all__ = ["list_page", "subject_page"]
