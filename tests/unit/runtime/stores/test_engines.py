"""Every engine keeps bytes in order, writes all or nothing, and can be scanned while it is written."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from caudal.runtime.stores.engines import ENGINES, open_engine
from caudal.runtime.stores.engines import lmdb as lmdb_module
from caudal.runtime.stores.engines.engine import Engine
from caudal.runtime.stores.engines.memory import MemoryEngine

P = b"\0\1"  # the number of a store: what its keys begin with
END = b"\0\2"


@pytest.fixture(params=["memory", *ENGINES])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    opened: Engine = MemoryEngine() if request.param == "memory" else open_engine(request.param, tmp_path / "0_0")[0]
    yield opened
    opened.close()


def test_the_last_write_of_a_key_counts(engine: Engine) -> None:
    engine.write([(P + b"a", b"1"), (P + b"b", b"1"), (P + b"a", None), (P + b"b", None), (P + b"b", b"2")])
    assert engine.get(P + b"a") is None
    assert engine.get(P + b"b") == b"2"
    assert list(engine.scan(P, END)) == [(P + b"b", b"2")]


def test_an_empty_value_is_a_value(engine: Engine) -> None:
    engine.write([(P + b"a", b"")])
    assert engine.get(P + b"a") == b""
    assert list(engine.scan(P, END)) == [(P + b"a", b"")]


def test_scans_are_bounded_and_ordered_over_many_chunks(engine: Engine) -> None:
    keys = [P + b"%05d" % number for number in range(3000)]
    shuffled = keys.copy()
    random.Random(1).shuffle(shuffled)
    engine.write([(key, key) for key in shuffled])
    assert [key for key, _ in engine.scan(P, END)] == keys
    assert [key for key, _ in engine.scan(P, END, reverse=True)] == keys[::-1]
    assert [key for key, _ in engine.scan(keys[100], keys[2000])] == keys[100:2000]
    assert [key for key, _ in engine.scan(keys[100], keys[2000], reverse=True)] == keys[100:2000][::-1]
    assert list(engine.scan(keys[5], keys[5])) == []
    assert [key for key, _ in engine.scan(keys[2990], None)] == keys[2990:]


def test_meta_is_not_among_the_entries(engine: Engine) -> None:
    assert engine.meta() is None
    engine.write([(P + b"a", b"1")], b"meta 1")
    engine.write([(P + b"b", b"1")])
    assert engine.meta() == b"meta 1"
    assert len(list(engine.scan(b"", None))) == 2


def test_entries_are_counted_without_reading_them(engine: Engine) -> None:
    engine.write([(P + b"%05d" % number, b"x") for number in range(1000)], b"meta")
    engine.write([(P + b"%05d" % number, None) for number in range(100)], b"meta")
    assert engine.approximate_count() == pytest.approx(900, abs=110), "RocksDB counts deletions as entries"


def test_a_scan_may_stay_open_over_writes(engine: Engine) -> None:
    engine.write([(P + b"%05d" % number, b"old") for number in range(1000)])
    scan = engine.scan(P, END)
    first = [next(scan)[0] for _ in range(300)]
    engine.write([(P + b"%05d" % number, None if number % 2 else b"new") for number in range(1000)])
    rest = [key for key, _ in scan]
    assert first == [P + b"%05d" % number for number in range(300)]
    assert rest == sorted(set(rest))
    assert P + b"00998" in rest


def test_ranges_are_dropped_before_the_writes_of_the_same_batch(engine: Engine) -> None:
    engine.write([(P + b"%d" % number, b"old") for number in range(10)])
    engine.write([(P + b"3", b"new")], b"meta", [(P + b"2", P + b"5"), (P + b"8", P + b"9")])
    assert [key[2:] for key, _ in engine.scan(P, END)] == [b"0", b"1", b"3", b"5", b"6", b"7", b"9"]
    assert engine.get(P + b"3") == b"new"


def test_a_batch_that_breaks_leaves_nothing(engine: Engine) -> None:
    def items() -> Iterator[tuple[bytes, bytes | None]]:
        yield P + b"a", b"1"
        raise RuntimeError("broken on the way")

    with pytest.raises(RuntimeError):
        engine.write(items(), b"meta")
    assert engine.get(P + b"a") is None
    assert engine.meta() is None


def test_wipe(engine: Engine) -> None:
    engine.write([(P + b"%05d" % number, b"x") for number in range(1000)], b"meta")
    engine.wipe()
    assert engine.meta() is None
    assert list(engine.scan(P, END)) == []
    engine.write([(P + b"a", b"1")], b"meta")
    assert list(engine.scan(P, END)) == [(P + b"a", b"1")]


def test_long_keys_are_kept_in_order(engine: Engine) -> None:
    heads = [b"h" * 480, b"h" * 492, b"h" * 493, b"h" * 494, b"h" * 508, b"h" * 600]
    keys = sorted({P + head + tail for head in heads for tail in (b"", b"a", b"a" * 40, b"b", b"b" * 700)})
    engine.write([(key, key[-20:]) for key in reversed(keys)])
    assert list(engine.scan(P, END)) == [(key, key[-20:]) for key in keys]
    assert [key for key, _ in engine.scan(P, END, reverse=True)] == keys[::-1]
    for key in keys:
        assert engine.get(key) == key[-20:]
    for first in keys:
        for end in keys[:: len(keys) // 7]:
            assert [key for key, _ in engine.scan(first, end)] == [key for key in keys if first <= key < end]
    engine.write([(key, None) for key in keys[::2]])
    assert [key for key, _ in engine.scan(P, END)] == keys[1::2]


def test_lmdb_grows_beyond_its_first_map(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lmdb_module, "_FIRST_MAP", 1 << 20)
    engine, _ = open_engine("lmdb", tmp_path / "0_0")
    for batch in range(4):
        engine.write([(P + b"%d-%05d" % (batch, number), b"x" * 200) for number in range(5000)], b"%d" % batch)
    assert sum(1 for _ in engine.scan(P, END)) == 20_000
    engine.close()
    again, void = open_engine("lmdb", tmp_path / "0_0")  # opened with the small map again
    assert void is None
    assert sum(1 for _ in again.scan(P, END)) == 20_000
    again.write([(P + b"a", b"1")], b"last")
    assert again.meta() == b"last"
    again.close()
