"""From a query to a Streams topology: `plan_query`. Pure: it asks the catalog, and touches neither broker nor Spark."""

from __future__ import annotations
