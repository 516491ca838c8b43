"""KSQL: the editor with its results, one stream or table, the queries and one of them."""

from caudal.ui.pages.ksql import queries, source, workbench

__all__ = ["queries", "source", "workbench"]
