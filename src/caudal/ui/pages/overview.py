"""The overview: the cluster at a glance."""

from __future__ import annotations

from caudal.ui.components import grid, number, stat
from caudal.ui.platform import platform
from caudal.ui.shell import page, page_heading
from caudal.ui.words import t


@page("/", title="Overview", icon="insights", order=0, shortcut="o")
async def overview() -> None:
    page_heading(t("Overview"))
    cluster = await platform().kafka.cluster()
    with grid():
        stat(t("Brokers"), number(len(cluster.brokers)))
        stat(t("Topics"), number(len(cluster.topics)), href="/topics")
