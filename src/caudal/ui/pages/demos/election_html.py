"""The tables and bars of the election page as HTML, and the colours of the map. Pure."""

from __future__ import annotations

from html import escape
from typing import Any

from caudal.demos.elections.country import COMMUNITIES, PARTIES, SEATS
from caudal.demos.elections.standings import Standings
from caudal.ui.components import number, percent
from caudal.ui.words import t

FULL_LEAD = 0.25  # from this lead on a community has its winner's full colour
PALEST = 45  # percent of the colour when nobody leads

NAMES = {party.id: party.name for party in PARTIES}


def fill(row: dict[str, Any] | None) -> str:
    """The winner's colour, paler the closer the race."""
    if row is None or row["winner"] is None:
        return ""
    strength = PALEST + (100 - PALEST) * min(1.0, row["lead"] / FULL_LEAD)
    return f"fill: color-mix(in srgb, var(--party-{row['winner']}) {strength:.0f}%, var(--surface))"


def label(name: str, row: dict[str, Any] | None) -> str:
    """What a screen reader says of a region."""
    if row is None or row["winner"] is None:
        return t("{name}: nothing counted yet", name=name)
    return t(
        "{name}: {winner} leads by {lead}, {counted} counted",
        name=name,
        winner=NAMES[row["winner"]],
        lead=percent(row["lead"]),
        counted=percent(row["counted"]),
    )


def swatch(party: str) -> str:
    return f'<span class="swatch" style="background: var(--party-{party})" aria-hidden="true"></span>'


def legend() -> str:
    return (
        '<span class="legend">' + "".join(f"<span>{swatch(p.id)}{escape(p.name)}</span>" for p in PARTIES) + "</span>"
    )


def parties_table(standings: Standings) -> str:
    """The country: votes, change, seats and the projection of every party."""
    votes, seats, change = standings.votes(), standings.seats(), standings.change()
    projection, projected = standings.projection(), standings.projected_seats()
    total = sum(votes.values())
    rows = []
    for party in sorted(PARTIES, key=lambda one: -votes[one.id]):
        share = votes[party.id] / total if total else None
        guess = projection.get(party.id)
        told = f"{number(100 * guess.share, 1)} ±{number(50 * (guess.high - guess.low), 1)} %" if guess else "–"
        rows.append(
            f'<tr><td>{swatch(party.id)}{escape(party.name)} <span class="muted">{number(votes[party.id])}</span></td>'
            f"<td class=n>{percent(share) if share is not None else '–'}</td>"
            f"<td class=n>{_points(change.get(party.id))}</td>"
            f"<td class=n>{seats[party.id]}</td><td class=n>{told}</td>"
            f"<td class=n>{projected.get(party.id, '–')}</td></tr>"
        )
    heads = (t("Party and votes"), t("Vote share"), t("Swing"), t("Seats"), t("Projection"), t("Seats then"))
    return _table(t("Parties in the whole country"), heads, rows)


def seat_bar(standings: Standings) -> str:
    """All seats in a row, with the line of the majority in the middle."""
    seats = standings.seats()
    order = [party for party in PARTIES if seats[party.id]]
    parts = "".join(
        f'<span style="width: {100 * seats[one.id] / SEATS:.2f}%; background: var(--party-{one.id})"></span>'
        for one in order
    )
    said = ", ".join(f"{one.name} {seats[one.id]}" for one in order)
    name = t("Seats, of {all}: {said}", all=SEATS, said=said or "–")
    return f'<div class="seat-bar" role="img" aria-label="{escape(name)}">{parts}</div>'


def community_table(row: dict[str, Any] | None) -> str:
    """One community, party by party."""
    votes = row["votes"] if row else dict.fromkeys(NAMES, 0)
    total = sum(votes.values())
    rows = []
    for party in sorted(PARTIES, key=lambda one: -votes[one.id]):
        share = votes[party.id] / total if total else 0.0
        guess = row["projection"][party.id] if row and row.get("projection") else None
        bar = f'<span class="bar" style="width: {6 * share:.2f}rem; background: var(--party-{party.id})"></span>'
        rows.append(
            f"<tr><td>{swatch(party.id)}{escape(party.name)}</td><td>{bar}</td><td class=n>{percent(share)}</td>"
            f"<td class=n>{_points(row['change'][party.id] if row else None)}</td>"
            f"<td class=n>{row['seats'][party.id] if row else '–'}</td>"
            f"<td class=n>{_range(guess[1], guess[2]) if guess else '–'}</td></tr>"
        )
    heads = (t("Party"), "", t("Vote share"), t("Swing"), t("Seats"), t("Projection"))
    return _table(t("Parties in this community"), heads, rows)


def communities_table(standings: Standings, chosen: str) -> str:
    """What the map shows, as a table: every community with its winner."""
    rows = []
    for one in COMMUNITIES:
        row = standings.results.get(one.code)
        mark = ' aria-selected="true"' if one.code == chosen else ""
        link = f'<a href="?community={one.code}" data-community="{one.code}">{escape(one.name)}</a>'
        if row is None:
            rows.append(
                f"<tr{mark}><td>{link}</td><td class=n>{percent(0)}</td><td>–</td><td></td><td></td><td></td></tr>"
            )
            continue
        votes = sum(row["votes"].values())
        seats = " ".join(f"{NAMES[party]} {count}" for party, count in row["seats"].items() if count)
        rows.append(
            f"<tr{mark}><td>{link}</td><td class=n>{percent(row['counted'])}</td>"
            f"<td>{swatch(row['winner'])}{escape(NAMES[row['winner']])}</td><td class=n>{percent(row['lead'])}</td>"
            f"<td class=n>{percent(votes / row['electors_counted']) if row['electors_counted'] else '–'}</td>"
            f"<td>{escape(seats)}</td></tr>"
        )
    heads = (t("Community"), t("Counted"), t("In front"), t("Lead"), t("Turnout"), t("Seats"))
    return _table(t("All communities: the map as a table"), heads, rows)


def _table(caption: str, heads: tuple[str, ...], rows: list[str]) -> str:
    top = "".join(f'<th scope="col"{_right(index, heads)}>{escape(head)}</th>' for index, head in enumerate(heads))
    return (
        f'<table class="results"><caption class="sr-only">{escape(caption)}</caption><thead><tr>{top}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


def _right(index: int, heads: tuple[str, ...]) -> str:
    texts = {t("Party"), t("Party and votes"), t("Community"), t("In front"), ""}
    is_last_text = heads[0] == t("Community") and index == len(heads) - 1
    return "" if heads[index] in texts or is_last_text else " class=n"


def _range(low: float, high: float) -> str:
    return f"{percent(low).removesuffix(' %')}–{percent(high)}"


def _points(change: float | None) -> str:
    if change is None:
        return "–"
    said, zero = number(abs(change), 1), number(0, 1)
    return said if said == zero else f"{'+' if change > 0 else '−'}{said}"
