"""The error of everything that is wrong with a topology before a record is read."""

from __future__ import annotations


class PlanError(ValueError):
    """One sentence for the user: what is wrong with the topology and what to do."""
