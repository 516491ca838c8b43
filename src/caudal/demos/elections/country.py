"""The 17 autonomous communities, the 2 autonomous cities and the parties. All figures are simulated.

The census is of the size that the communities have, rounded; parties, their colours and their strength are invented.
Each community is one constituency of a chamber of 350 seats, which Spain's is not: there provinces are.
"""

from __future__ import annotations

from typing import NamedTuple


class Party(NamedTuple):
    """`country` and `city` say how much better (logits) it does in small places and in large ones."""

    id: str
    name: str
    light: str  # its colour on a light ground
    dark: str  # and on a dark one
    country: float
    city: float


class Community(NamedTuple):
    code: str  # of the National Statistics Institute, and of the map
    name: str
    census: int
    seats: int
    shares: tuple[float, ...]  # of the parties in the first election, in their order
    cities: float  # the part of the stations that is in large places


PARTIES = (
    Party("encina", "Encina", "#0d8077", "#35b8a8", 0.25, -0.15),
    Party("olivo", "Olivo", "#c2640c", "#e8963f", -0.20, 0.15),
    Party("tejo", "Tejo", "#5f4bb6", "#9d8bf0", -0.30, 0.30),
    Party("haya", "Haya", "#b0356b", "#e8709f", 0.10, 0.00),
    Party("almendro", "Almendro", "#2a6fb8", "#5f9fe6", 0.05, -0.05),
    Party("pino", "Pino", "#6b7d12", "#a9bb35", 0.30, -0.25),
)
PARTY_IDS = tuple(party.id for party in PARTIES)

COMMUNITIES = (
    Community("01", "Andalucía", 6_700_000, 60, (0.30, 0.33, 0.13, 0.15, 0.06, 0.03), 0.50),
    Community("02", "Aragón", 1_020_000, 10, (0.32, 0.29, 0.12, 0.12, 0.06, 0.09), 0.50),
    Community("03", "Asturias", 970_000, 9, (0.26, 0.38, 0.15, 0.11, 0.05, 0.05), 0.55),
    Community("04", "Illes Balears", 840_000, 9, (0.26, 0.22, 0.12, 0.11, 0.25, 0.04), 0.50),
    Community("05", "Canarias", 1_800_000, 17, (0.24, 0.29, 0.12, 0.10, 0.05, 0.20), 0.45),
    Community("06", "Cantabria", 500_000, 6, (0.36, 0.29, 0.09, 0.13, 0.05, 0.08), 0.40),
    Community("07", "Castilla y León", 2_080_000, 20, (0.40, 0.29, 0.08, 0.13, 0.04, 0.06), 0.35),
    Community("08", "Castilla-La Mancha", 1_600_000, 15, (0.37, 0.32, 0.08, 0.16, 0.04, 0.03), 0.30),
    Community("09", "Cataluña", 5_700_000, 50, (0.15, 0.26, 0.15, 0.08, 0.14, 0.22), 0.60),
    Community("10", "Comunitat Valenciana", 3_780_000, 35, (0.29, 0.29, 0.21, 0.13, 0.05, 0.03), 0.55),
    Community("11", "Extremadura", 890_000, 9, (0.31, 0.42, 0.07, 0.13, 0.03, 0.04), 0.25),
    Community("12", "Galicia", 2_690_000, 24, (0.39, 0.28, 0.09, 0.05, 0.05, 0.14), 0.40),
    Community("13", "Comunidad de Madrid", 5_200_000, 46, (0.30, 0.21, 0.29, 0.12, 0.06, 0.02), 0.80),
    Community("14", "Región de Murcia", 1_080_000, 11, (0.30, 0.20, 0.10, 0.31, 0.06, 0.03), 0.50),
    Community("15", "Navarra", 520_000, 6, (0.24, 0.27, 0.12, 0.06, 0.04, 0.27), 0.40),
    Community("16", "País Vasco", 1_790_000, 17, (0.12, 0.25, 0.13, 0.03, 0.06, 0.41), 0.55),
    Community("17", "La Rioja", 250_000, 4, (0.40, 0.33, 0.08, 0.11, 0.04, 0.04), 0.50),
    Community("18", "Ceuta", 63_000, 1, (0.31, 0.27, 0.05, 0.32, 0.03, 0.02), 1.00),
    Community("19", "Melilla", 60_000, 1, (0.44, 0.23, 0.05, 0.16, 0.04, 0.08), 1.00),
)
BY_CODE = {community.code: community for community in COMMUNITIES}
CENSUS = sum(community.census for community in COMMUNITIES)
SEATS = sum(community.seats for community in COMMUNITIES)
