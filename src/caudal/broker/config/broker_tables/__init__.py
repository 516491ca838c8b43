"""All broker properties, by name. A property is added by a line in the table of its subject."""

from __future__ import annotations

from typing import Final

from caudal.broker.config.broker_tables.cluster import CLUSTER
from caudal.broker.config.broker_tables.coordinators import COORDINATORS
from caudal.broker.config.broker_tables.groups import GROUPS
from caudal.broker.config.broker_tables.network import NETWORK
from caudal.broker.config.broker_tables.security import SECURITY
from caudal.broker.config.broker_tables.storage import STORAGE
from caudal.broker.config.broker_tables.tiering import TIERING
from caudal.broker.config.definition import table

BROKER_DEFS: Final = table((*NETWORK, *STORAGE, *COORDINATORS, *GROUPS, *CLUSTER, *SECURITY, *TIERING))
