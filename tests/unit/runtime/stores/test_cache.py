"""The clean cache against a dict: it may forget, but never answers with what was replaced, and keeps its limit."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from caudal.runtime.stores.cache import CleanCache, Entry

KEYS = st.integers(0, 12)
STEPS = st.lists(st.tuples(st.sampled_from(["get", "absorb"]), st.lists(KEYS, max_size=9)), max_size=40)


@settings(max_examples=200, deadline=None)
@given(STEPS)
def test_the_clean_cache_never_answers_with_an_old_entry(steps: list[tuple[str, list[int]]]) -> None:
    cache = CleanCache(8)
    engine: dict[int, Entry] = {}
    for number, (action, keys) in enumerate(steps):
        if action == "absorb":
            engine.update(dict.fromkeys(keys, (number, number)))
            cache.absorb({key: engine[key] for key in keys})
        else:
            for key in keys:
                found = cache.get(key)
                if found is not None:
                    assert found == engine[key]
                elif key in engine:
                    cache.put(key, engine[key])
        assert len(cache) <= 8


def test_what_is_used_stays() -> None:
    cache = CleanCache(8)
    cache.put("hot", (1, 1))
    for number in range(100):
        assert cache.get("hot") == (1, 1)
        cache.put(number, (number, 0))
