"""Running Spark pipelines: the list, and one with its topology drawn, figures, plots and controls."""

from caudal.ui.pages.pipelines import detail, overview

__all__ = ["detail", "overview"]
