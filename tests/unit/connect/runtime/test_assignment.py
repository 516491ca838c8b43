"""Incremental assignment: everything once, minimal moves, loads that differ by one at most; the scheduled delay."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from caudal.connect.runtime.assignment import Decision, Memory, Worker, decide
from caudal.connect.runtime.group_protocol import NOTHING, Load, load
from caudal.connect.runtime.model import TaskId

DELAY = 300.0


def jobs(connectors: int, tasks: int) -> Load:
    names = [f"c{n}" for n in range(connectors)]
    return load(names, [TaskId(name, n) for name in names for n in range(tasks)])


class Cluster:
    """Workers that do what they are told, as members of a group with one leader."""

    def __init__(self, *members: str, delay: float = DELAY) -> None:
        self.loads: dict[str, Load] = dict.fromkeys(members, NOTHING)
        self.urls = {member: f"http://{member}" for member in members}
        self.memory = Memory()
        self.now = 0.0
        self.delay = delay
        self.moved = 0

    def join(self, member: str, url: str | None = None, has: Load = NOTHING) -> None:
        self.loads[member] = has
        self.urls[member] = url or f"http://{member}"

    def leave(self, member: str) -> Load:
        return self.loads.pop(member)

    def round(self, configured: Load, released: Load = NOTHING) -> Decision:
        workers = {member: Worker(self.urls[member], has) for member, has in self.loads.items()}
        decision = decide(workers, configured, self.memory, self.now, self.delay, released)
        self.memory = decision.memory
        for member in self.loads:
            self.loads[member] = (self.loads[member] - decision.revoked[member]) | decision.assigned[member]
            self.moved += len(decision.revoked[member])
        return decision

    def settle(self, configured: Load) -> int:
        for rounds in range(1, 10):
            if not any(self.round(configured).revoked.values()):
                return rounds
        raise AssertionError("it does not settle")


def check(loads: Mapping[str, Load], configured: Load) -> None:
    """Everything is with somebody, once, and evenly."""
    for kind in ("connectors", "tasks"):
        owned = [item for has in loads.values() for item in getattr(has, kind)]
        assert sorted(owned) == sorted(getattr(configured, kind))
        counts = [len(getattr(has, kind)) for has in loads.values()]
        assert max(counts) - min(counts) <= 1


def test_the_first_round_assigns_everything() -> None:
    cluster = Cluster("a", "b")
    assert cluster.settle(jobs(3, 2)) == 1
    check(cluster.loads, jobs(3, 2))


def test_a_newcomer_gets_its_share_in_two_rounds() -> None:
    cluster, configured = Cluster("a", "b"), jobs(3, 2)
    cluster.settle(configured)
    cluster.join("c")
    first = cluster.round(configured)
    assert {m: len(gone) for m, gone in first.revoked.items()} == {"a": 2, "b": 1, "c": 0}
    assert not any(first.assigned.values()), "what is revoked runs on until its owner has let go"
    second = cluster.round(configured)
    assert not any(second.revoked.values())
    assert len(second.assigned["c"]) == 3
    check(cluster.loads, configured)


def test_what_was_lost_waits_and_then_goes_to_the_others() -> None:
    cluster, configured = Cluster("a", "b"), jobs(3, 2)
    cluster.settle(configured)
    lost = cluster.leave("b")
    cluster.now = 10
    decision = cluster.round(configured)
    assert decision.delay == DELAY
    assert not cluster.loads["a"] & lost
    cluster.now = 110
    assert cluster.round(configured).delay == DELAY - 100, "a rebalance in between does not begin the delay anew"
    cluster.now = 310
    assert cluster.round(configured).delay == 0
    check(cluster.loads, configured)


def test_new_things_do_not_wait_with_the_lost_ones() -> None:
    cluster = Cluster("a", "b")
    cluster.settle(jobs(2, 2))
    cluster.leave("b")
    cluster.round(jobs(3, 2))
    assert "c2" in cluster.loads["a"].connectors
    assert TaskId("c2", 1) in cluster.loads["a"].tasks


def test_a_worker_that_returns_gets_its_own_back_at_once() -> None:
    cluster, configured = Cluster("a", "b"), jobs(3, 2)
    cluster.settle(configured)
    lost = cluster.leave("b")
    cluster.round(configured)
    cluster.join("b-anew", url="http://b")
    decision = cluster.round(configured)
    assert decision.delay == 0
    assert cluster.loads["b-anew"] == lost
    assert cluster.moved == 0


def test_a_worker_with_another_address_gets_it_after_the_delay() -> None:
    cluster, configured = Cluster("a", "b"), jobs(4, 2)
    cluster.settle(configured)
    lost = cluster.leave("b")
    cluster.round(configured)
    cluster.join("c")
    assert cluster.round(configured).delay == DELAY
    assert cluster.loads["c"] == NOTHING
    cluster.now = DELAY
    cluster.round(configured)
    assert cluster.loads["c"] == lost
    assert cluster.moved == 0


def test_what_was_released_in_good_order_is_assigned_at_once() -> None:
    cluster, configured = Cluster("a", "b"), jobs(3, 2)
    cluster.settle(configured)
    released = cluster.leave("b")
    assert cluster.round(configured, released).delay == 0
    check(cluster.loads, configured)


def test_without_a_delay_nothing_waits() -> None:
    cluster, configured = Cluster("a", "b", delay=0), jobs(3, 2)
    cluster.settle(configured)
    cluster.leave("b")
    assert cluster.round(configured).delay == 0
    check(cluster.loads, configured)


def test_a_new_leader_does_not_wait_for_what_it_never_saw() -> None:
    cluster, configured = Cluster("a", "b"), jobs(3, 2)
    cluster.settle(configured)
    cluster.leave("b")
    cluster.memory = Memory()
    assert cluster.round(configured).delay == 0
    check(cluster.loads, configured)


def test_what_a_present_worker_dropped_is_assigned_again_at_once() -> None:
    cluster, configured = Cluster("a", "b"), jobs(3, 2)
    cluster.settle(configured)
    cluster.loads["b"] = NOTHING  # it lost its session, say, and has stopped everything
    assert cluster.round(configured).delay == 0
    check(cluster.loads, configured)


def test_what_two_have_is_taken_from_one() -> None:
    cluster, configured = Cluster("a"), jobs(1, 3)
    cluster.settle(configured)
    cluster.join("zombie", has=configured)
    cluster.settle(configured)
    check(cluster.loads, configured)


def test_what_is_deleted_is_revoked_and_not_assigned() -> None:
    cluster = Cluster("a", "b")
    cluster.settle(jobs(3, 2))
    cluster.settle(jobs(2, 1))
    check(cluster.loads, jobs(2, 1))


def test_nothing_moves_while_a_delay_runs() -> None:
    cluster, configured = Cluster("a", "b"), jobs(4, 2)
    cluster.settle(configured)
    cluster.leave("b")
    cluster.round(configured)
    cluster.join("c")
    assert not any(cluster.round(configured).revoked.values())


def test_the_surplus_is_taken_from_the_largest_family() -> None:
    cluster = Cluster("a")
    configured = load(["x", "y"], [TaskId("x", 0), *(TaskId("y", n) for n in range(5))])
    cluster.settle(configured)
    cluster.join("b")
    cluster.settle(configured)
    assert TaskId("x", 0) in cluster.loads["a"].tasks
    check(cluster.loads, configured)


steps = st.one_of(
    st.tuples(st.just("join"), st.integers(0, 5)),
    st.tuples(st.just("leave"), st.integers(0, 5)),
    st.tuples(st.just("configure"), st.integers(0, 6)),
    st.tuples(st.just("wait"), st.integers(0, 400)),
    st.tuples(st.just("round"), st.just(0)),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(steps, max_size=12), st.sampled_from([0.0, DELAY]))
def test_whatever_happens_everything_is_in_one_place_in_the_end(story: list[tuple[str, int]], delay: float) -> None:
    cluster, configured = Cluster("w9", delay=delay), jobs(2, 2)
    joined = 0
    for what, number in story:
        if what == "join":
            joined += 1
            cluster.join(f"w{number}-{joined}", url=f"http://w{number}")
        elif what == "leave" and len(cluster.loads) > 1:
            cluster.leave(sorted(cluster.loads)[number % len(cluster.loads)])
        elif what == "configure":
            configured = jobs(number, number)
        elif what == "wait":
            cluster.now += number
        cluster.round(configured)
        taken = [item for has in cluster.loads.values() for item in (*has.connectors, *has.tasks)]
        assert len(taken) == len(set(taken)), "never in two places"
    cluster.now += 2 * DELAY
    cluster.settle(configured)
    check(cluster.loads, configured)
    before, moved = dict(cluster.loads), cluster.moved
    cluster.settle(configured)
    assert cluster.loads == before and cluster.moved == moved, "what is settled does not move"


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 5), st.integers(0, 8), st.integers(0, 4))
def test_a_newcomer_costs_no_more_moves_than_its_share(workers: int, connectors: int, tasks: int) -> None:
    cluster, configured = Cluster(*(f"w{n}" for n in range(workers))), jobs(connectors, tasks)
    cluster.settle(configured)
    cluster.join("new")
    assert cluster.settle(configured) <= 2
    assert cluster.moved == connectors // (workers + 1) + connectors * tasks // (workers + 1)
    check(cluster.loads, configured)


@settings(max_examples=20, deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_order_in_which_members_are_told_does_not_matter(random: object) -> None:
    members = [f"w{n}" for n in range(4)]
    workers = {m: Worker(m, jobs(2, 2) if m == "w1" else NOTHING) for m in members}
    random.shuffle(members)  # type: ignore[attr-defined]
    shuffled = {m: workers[m] for m in members}
    assert decide(workers, jobs(5, 3), Memory(), 0, DELAY) == decide(shuffled, jobs(5, 3), Memory(), 0, DELAY)
