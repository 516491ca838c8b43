"""The check itself, with a registry that is a dict: verdicts, what is remembered for how long, and the order of a new
producer's batches while the registry is away."""

from __future__ import annotations

import asyncio
import json
import struct
from time import monotonic, time

import pytest

from caudal.broker.errors import ErrorCode, KafkaError
from caudal.broker.schemas import check as checks
from caudal.broker.schemas.check import RefusedRecords, SchemaCheck, SchemasUnknown
from caudal.broker.schemas.http_get import NoAnswer
from caudal.broker.schemas.subjects import RECORD_NAME, TOPIC_NAME, TOPIC_RECORD_NAME, SubjectRule
from caudal.broker.wire import codecs
from caudal.broker.wire.batch import Record, build_batch, read_header

VALUES = SubjectRule(TOPIC_NAME, "orders", "value")
KEYS = SubjectRule(TOPIC_NAME, "orders", "key")


def framed(schema_id: int, payload: bytes = b"payload") -> bytes:
    return struct.pack(">bi", 0, schema_id) + payload


class Registry:
    """Ids, the subjects they are registered under, and how often each path was asked for."""

    def __init__(self) -> None:
        self.subjects: dict[int, list[str]] = {}
        self.schemas: dict[int, dict[str, str]] = {}
        self.asked: list[str] = []
        self.failure: Exception | None = None
        self.open = asyncio.Event()
        self.open.set()
        self.answer: tuple[int, bytes] | None = None

    async def get(self, base: str, path: str, timeout: float) -> tuple[int, bytes]:
        self.asked.append(base + path)
        await self.open.wait()
        if self.failure is not None:
            raise self.failure
        if self.answer is not None:
            return self.answer
        schema_id = int(path.split("/")[3])
        if schema_id not in self.subjects:
            return 404, json.dumps({"error_code": 40403, "message": "Schema not found"}).encode()
        if path.endswith("/subjects"):
            return 200, json.dumps(self.subjects[schema_id]).encode()
        return 200, json.dumps(self.schemas[schema_id]).encode()


@pytest.fixture
async def registry(monkeypatch: pytest.MonkeyPatch) -> Registry:
    fake = Registry()
    monkeypatch.setattr(checks, "get", fake.get)
    monkeypatch.setattr(checks, "SECOND_LOOK_SECONDS", 0.0)
    return fake


@pytest.fixture
def check(registry: Registry) -> SchemaCheck:
    return SchemaCheck(["http://r/"])


def batch(*values: bytes | None, key: bytes | None = None, codec: int = codecs.NONE, **options: int) -> bytearray:
    now = int(time() * 1000)
    return build_batch([Record(i, now, key, value) for i, value in enumerate(values)], codec=codec, **options)  # type: ignore[arg-type]


def judge(check: SchemaCheck, data: bytearray, *rules: SubjectRule, new: bool = False) -> None:
    check.check(("orders", 0), data, read_header(data), rules or (VALUES,), new)


async def settle(check: SchemaCheck, data: bytearray, *rules: SubjectRule, new: bool = False) -> None:
    """As the Produce handler does it."""
    try:
        judge(check, data, *rules, new=new)
    except SchemasUnknown as unknown:
        await check.look_up(unknown.questions)
        judge(check, data, *rules, new=new)


async def refusal(check: SchemaCheck, data: bytearray, *rules: SubjectRule) -> RefusedRecords:
    with pytest.raises(RefusedRecords) as caught:
        await settle(check, data, *rules)
    assert caught.value.code is ErrorCode.invalid_record
    return caught.value


async def test_a_registered_id_is_asked_for_once_and_kept(check: SchemaCheck, registry: Registry) -> None:
    registry.subjects[7] = ["other", "orders-value"]
    await settle(check, batch(framed(7), None, framed(7, b"")))
    registry.subjects.clear()
    judge(check, batch(framed(7)))
    assert registry.asked == ["http://r/schemas/ids/7/subjects"]


async def test_nulls_and_fields_that_are_not_checked_pass(check: SchemaCheck, registry: Registry) -> None:
    judge(check, batch(None, None, key=b"anything"))
    assert registry.asked == []


@pytest.mark.parametrize("codec", [codecs.NONE, codecs.GZIP, codecs.SNAPPY, codecs.LZ4, codecs.ZSTD])
async def test_each_bad_record_is_named(check: SchemaCheck, registry: Registry, codec: int) -> None:
    registry.subjects = {1: ["orders-value"], 2: ["payments-value"]}
    error = await refusal(check, batch(framed(1), b'{"a":1}', None, framed(2), b"\0", framed(3), codec=codec))
    assert error.record_errors == [
        (1, "the value does not begin with a schema id: its first byte is 0x7b, not 0x00"),
        (4, "the value has 1 bytes, too few for a schema id"),
    ]
    assert registry.asked == [], "what is wrong in itself needs no registry"
    error = await refusal(check, batch(framed(1), framed(2), framed(3), codec=codec))
    assert error.record_errors == [
        (1, "schema id 2 is not registered under the subject orders-value"),
        (2, "the registry has no schema with id 3"),
    ]
    assert error.message == (
        "orders takes records with registered schemas only; "
        "record 1: schema id 2 is not registered under the subject orders-value"
    )


async def test_keys_have_a_subject_of_their_own(check: SchemaCheck, registry: Registry) -> None:
    registry.subjects = {1: ["orders-value"], 2: ["orders-key"]}
    await settle(check, batch(framed(1), key=framed(2)), KEYS, VALUES)
    error = await refusal(check, batch(framed(1), key=framed(1)), KEYS, VALUES)
    assert error.record_errors == [(0, "schema id 1 is not registered under the subject orders-key")]


async def test_strategies_that_need_the_records_name(check: SchemaCheck, registry: Registry) -> None:
    avro = json.dumps({"type": "record", "name": "Order", "namespace": "shop", "fields": []})
    registry.subjects = {1: ["shop.Order"], 2: ["orders-shop.Order"], 3: ["orders-value"]}
    registry.schemas = {1: {"schema": avro}, 2: {"schema": avro}, 3: {"schema": '{"type": "map", "values": "int"}'}}
    by_record = SubjectRule(RECORD_NAME, "orders", "value")
    by_both = SubjectRule(TOPIC_RECORD_NAME, "orders", "value")
    await settle(check, batch(framed(1)), by_record)
    await settle(check, batch(framed(2)), by_both)
    error = await refusal(check, batch(framed(2)), by_record)
    assert error.record_errors == [(0, "schema id 2 is not registered under the subject shop.Order")]
    error = await refusal(check, batch(framed(3)), by_record)
    assert error.record_errors == [(0, "schema id 3 names no record type, which RecordNameStrategy needs")]


async def test_a_hostile_schema_name_makes_no_hostile_message(check: SchemaCheck, registry: Registry) -> None:
    registry.subjects, registry.schemas = {1: []}, {1: {"schema": '{"title": "\\ud800' + "x" * 99_999 + '"}'}}
    registry.schemas[1]["schemaType"] = "JSON"
    error = await refusal(check, batch(framed(1)), SubjectRule(RECORD_NAME, "orders", "value"))
    assert len(error.record_errors[0][1].encode()) <= 500


async def test_not_found_is_remembered_for_a_moment_only(
    check: SchemaCheck, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    await refusal(check, batch(framed(5)))
    asked = len(registry.asked)
    with pytest.raises(RefusedRecords):
        judge(check, batch(framed(5)))
    assert len(registry.asked) == asked == 2, "asked twice at first: another instance may have just registered it"
    registry.subjects[5] = ["orders-value"]
    now = monotonic()
    monkeypatch.setattr(checks, "monotonic", lambda: now + checks.REFUSED_SECONDS + 0.1)
    await settle(check, batch(framed(5)))


async def test_every_instance_is_asked_before_a_record_is_refused(registry: Registry) -> None:
    check = SchemaCheck(["http://a", "http://b"])
    await refusal(check, batch(framed(5)))
    assert {url.split("/schemas")[0] for url in registry.asked} == {"http://a", "http://b"}


async def test_the_instance_that_answers_is_asked_first_from_then_on(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def get(base: str, path: str, timeout: float) -> tuple[int, bytes]:
        if base == "http://a":
            registry.asked.append(base)
            raise NoAnswer("away")
        return await registry.get(base, path, timeout)

    monkeypatch.setattr(checks, "get", get)
    registry.subjects = {1: ["orders-value"], 2: ["orders-value"]}
    check = SchemaCheck(["http://a", "http://b"])
    await settle(check, batch(framed(1)))
    await settle(check, batch(framed(2)))
    assert registry.asked == ["http://a", "http://b/schemas/ids/1/subjects", "http://b/schemas/ids/2/subjects"]


async def test_a_registry_that_is_away_means_later_not_yes_and_not_no(
    check: SchemaCheck, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.subjects[7] = ["orders-value"]
    registry.failure = NoAnswer("http://r cannot be reached: Connection refused")
    with pytest.raises(KafkaError, match=r"Connection refused; nothing was written, send it again") as caught:
        await settle(check, batch(framed(7)))
    assert caught.value.code is ErrorCode.not_enough_replicas
    with pytest.raises(KafkaError):
        judge(check, batch(framed(7)))
    assert len(registry.asked) == 1, "for a second it is not asked again"
    registry.failure = None
    now = monotonic()
    monkeypatch.setattr(checks, "monotonic", lambda: now + checks.DOWN_SECONDS + 0.1)
    await settle(check, batch(framed(7)))


@pytest.mark.parametrize(
    "answer", [(500, b"{}"), (401, b'{"error_code": 401}'), (404, b"<html>"), (404, b"{}"), (200, b"{}"), (200, b"no")]
)
async def test_an_answer_that_decides_nothing_is_no_answer(
    check: SchemaCheck, registry: Registry, answer: tuple[int, bytes]
) -> None:
    registry.answer = answer
    with pytest.raises(KafkaError) as caught:
        await settle(check, batch(framed(7)))
    assert caught.value.code is ErrorCode.not_enough_replicas


async def test_a_bug_in_the_look_up_refuses_for_now(check: SchemaCheck, registry: Registry) -> None:
    registry.failure = RuntimeError("a bug")
    with pytest.raises(KafkaError, match="its log says why"):
        await settle(check, batch(framed(7)))


async def test_without_an_address_nothing_is_taken(registry: Registry) -> None:
    with pytest.raises(KafkaError, match=r"no confluent\.schema\.registry\.url") as caught:
        judge(SchemaCheck(), batch(framed(7)))
    assert caught.value.code is ErrorCode.not_enough_replicas


async def test_whoever_asks_for_the_same_id_waits_for_one_look_up(check: SchemaCheck, registry: Registry) -> None:
    registry.subjects[7] = ["orders-value"]
    registry.open.clear()
    leaver, stayer = (asyncio.ensure_future(settle(check, batch(framed(7)))) for _ in range(2))
    await asyncio.sleep(0.01)
    leaver.cancel()  # its client has gone: the look-up is the other's as well
    await asyncio.sleep(0)
    registry.open.set()
    await stayer
    assert len(registry.asked) == 1


async def test_a_batch_full_of_ids_asks_for_a_few_at_a_time(check: SchemaCheck, registry: Registry) -> None:
    with pytest.raises(SchemasUnknown) as caught:
        judge(check, batch(*(framed(i) for i in range(900))))
    assert len(caught.value.questions) == checks.IDS_AT_ONCE
    with pytest.raises(KafkaError, match="more than 1000 different schema ids"):
        judge(check, batch(*(framed(i) for i in range(1002)), codec=codecs.ZSTD))


async def test_a_batch_that_opens_to_millions_of_records_is_not_looked_at(check: SchemaCheck) -> None:
    data = batch(framed(1))
    struct.pack_into(">i", data, 57, checks.MAX_RECORDS + 1)
    with pytest.raises(KafkaError, match="more than 100000 records") as caught:
        judge(check, data)
    assert caught.value.code is ErrorCode.invalid_record


async def test_plain_text_is_called_so_however_much_it_is(check: SchemaCheck) -> None:
    error = await refusal(check, batch(*(b"%06d" % i for i in range(5000))))
    assert "its first byte is 0x30" in error.record_errors[0][1]


async def test_keys_that_are_not_checked_are_not_counted(check: SchemaCheck, registry: Registry) -> None:
    registry.subjects[7] = ["orders-value"]
    items = [Record(i, 1, b"%06d" % i, framed(7)) for i in range(5000)]
    await settle(check, build_batch(items))


async def test_few_record_errors_are_told_of_many(check: SchemaCheck) -> None:
    error = await refusal(check, batch(*[b"plain text"] * 5000))
    assert len(error.record_errors) == checks.RECORD_ERRORS


async def test_a_new_producers_second_batch_does_not_overtake_the_first(
    check: SchemaCheck, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first is put off (no registry); the second's id is known. Taken now, it would be the producer's first here,
    and the retry of the first out of sequence for ever."""
    registry.subjects = {1: ["orders-value"], 2: ["orders-value"]}
    await settle(check, batch(framed(2)))
    first = batch(framed(1), producer_id=9, producer_epoch=0, base_sequence=0)
    second = batch(framed(2), producer_id=9, producer_epoch=0, base_sequence=1)
    registry.failure = NoAnswer("away")
    for data, code in ((first, ErrorCode.not_enough_replicas), (second, ErrorCode.out_of_order_sequence_number)):
        with pytest.raises(KafkaError) as caught:
            await settle(check, data, new=True)
        assert caught.value.code is code
    registry.failure = None
    now = monotonic()
    monkeypatch.setattr(checks, "monotonic", lambda: now + checks.DOWN_SECONDS + 0.1)
    await settle(check, first, new=True)
    await settle(check, second)


async def test_a_first_batch_that_is_refused_in_the_end_holds_nobody_back(
    check: SchemaCheck, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.subjects = {2: ["orders-value"]}
    await settle(check, batch(framed(2)))
    registry.failure = NoAnswer("away")
    first = batch(framed(1), producer_id=9, producer_epoch=0, base_sequence=0)
    with pytest.raises(KafkaError, match="send it again"):
        await settle(check, first, new=True)
    registry.failure = None
    now = monotonic()
    monkeypatch.setattr(checks, "monotonic", lambda: now + checks.DOWN_SECONDS + 0.1)
    with pytest.raises(RefusedRecords):
        await settle(check, first, new=True)
    judge(check, batch(framed(2), producer_id=9, producer_epoch=0, base_sequence=1), new=True)


async def test_a_new_epoch_begins_anew(check: SchemaCheck, registry: Registry) -> None:
    registry.subjects = {2: ["orders-value"]}
    await settle(check, batch(framed(2)))
    registry.failure = NoAnswer("away")
    unknown = batch(framed(1), producer_id=9, producer_epoch=0, base_sequence=0)
    with pytest.raises(KafkaError):
        await settle(check, unknown, new=True)
    judge(check, batch(framed(2), producer_id=9, producer_epoch=1, base_sequence=5), new=True)


async def test_closing_ends_look_ups_and_puts_off_who_waits(check: SchemaCheck, registry: Registry) -> None:
    registry.open.clear()
    waiting = asyncio.ensure_future(settle(check, batch(framed(7))))
    await asyncio.sleep(0.01)
    await check.close()
    with pytest.raises(KafkaError) as caught:
        await waiting
    assert caught.value.code is ErrorCode.not_enough_replicas
