"""Whether the records of a batch carry a registered schema: what is known of ids, and asking the registry for the rest.

`check` is synchronous and works from memory only, in the same step as the append. Where an id is not known yet it
raises `SchemasUnknown`: the Produce handler awaits `look_up` and appends again. A connection's next request waits
meanwhile, so the batches of a producer keep their order; whoever asks for the same id waits for the same look-up.

- Found: kept for good. An id never gets another schema, and what readers have must stay readable.
- Not found: asked once more after a moment (another instance may have registered it just now), then refused with
  INVALID_RECORD and kept for a second, so that a producer that keeps trying does not become the registry's load.
- No answer: never taken unverified. NOT_ENOUGH_REPLICAS is the code that every client takes as "nothing was written,
  send it again"; the message and the log say what it is about. For a second nothing more is asked.

Left out: contexts other than the default one, ids in record headers, and whether the bytes fit the schema.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterable, Sequence
from time import monotonic
from typing import Any, Final

from caudal.broker.errors import ErrorCode, KafkaError
from caudal.broker.logs import Quiet
from caudal.broker.schemas.http_get import NoAnswer, get
from caudal.broker.schemas.subjects import SubjectRule, record_names
from caudal.broker.wire.batch import BatchHeader, leading_bytes, records
from caudal.broker.wire.primitives import Buffer

log = logging.getLogger("caudal.broker.schemas")

PREFIX: Final = 5  # magic byte and id
MAX_RECORDS: Final = 100_000  # of a batch: a megabyte can open to millions, and each is looked at on the event loop
MAX_PREFIXES: Final = 1000  # different ones in a batch; no honest producer comes near
IDS_AT_ONCE: Final = 8  # of one batch; and connections to the registry
RECORD_ERRORS: Final = 100  # told of one batch
ANSWER_SECONDS: Final = 3.0
LOOK_UP_SECONDS: Final = 10.0
SECOND_LOOK_SECONDS: Final = 0.25
REFUSED_SECONDS: Final = 1.0
DOWN_SECONDS: Final = 1.0
_REMEMBERED: Final = 10_000
_LONGEST_SENTENCE: Final = 500

Question = tuple[int, SubjectRule]
Place = tuple[str, int]


class RefusedRecords(KafkaError):
    """A batch with records that may not be written, and which they are."""

    def __init__(self, message: str, record_errors: list[tuple[int, str]]) -> None:
        super().__init__(ErrorCode.invalid_record, message)
        self.record_errors = record_errors


class SchemasUnknown(Exception):
    """The registry has to be asked before this batch can be judged; nothing was written."""

    def __init__(self, questions: set[Question]) -> None:
        self.questions = questions


class SchemaCheck:
    """One per broker. Everything happens on the event loop."""

    def __init__(self, urls: Sequence[str] = ()) -> None:
        self._urls = [url.rstrip("/") for url in urls]
        self._quiet = Quiet(log)
        self._registered: set[Question] = set()
        self._refused: dict[Question, tuple[float, str]] = {}  # until when, and why
        self._down_until = 0.0
        self._down_why = "this broker has no confluent.schema.registry.url"
        self._asked: dict[Question, asyncio.Task[None]] = {}
        self._connections = asyncio.Semaphore(IDS_AT_ONCE)
        # Producers new to a partition whose first batch was put off: (epoch, sequence) that must come next.
        self._put_off: dict[tuple[str, int, int], tuple[int, int]] = {}

    # -- from memory -----------------------------------------------------------------------------------------------

    def check(self, place: Place, batch: Buffer, header: BatchHeader, rules: Sequence[SubjectRule], new: bool) -> None:
        """Raises unless every record may be written. `new`: the partition does not know the batch's producer yet."""
        faults: dict[tuple[str, bytes], str] = {}
        unknown: set[Question] = set()
        if header.record_count > MAX_RECORDS:
            raise KafkaError(ErrorCode.invalid_record, f"a batch with more than {MAX_RECORDS} records")
        fields = {rule.field for rule in rules}
        keys, values = leading_bytes(
            batch, 0, header, PREFIX, MAX_PREFIXES, keys="key" in fields, values="value" in fields
        )
        for rule in rules:
            self._sort(rule, keys if rule.field == "key" else values, faults, unknown)
        if faults:
            refusal = _refusal(place, batch, header, faults)
            # librdkafka's users see no more than a code: the log has the words.
            self._quiet.warning(place[0], "refused: %s", refusal.message)
            if not self._out_of_turn(place, header):  # it will not come again: nothing waits for it
                self._put_off.pop((*place, header.producer_id), None)
            raise refusal
        if max(len(keys), len(values)) > MAX_PREFIXES:
            raise KafkaError(ErrorCode.invalid_record, f"a batch with more than {MAX_PREFIXES} different schema ids")
        if unknown and (not self._urls or monotonic() < self._down_until):
            if new:
                self._put_off_first(place, header)
            raise KafkaError(
                ErrorCode.not_enough_replicas,
                f"the schema ids of {place[0]}-{place[1]} cannot be checked: {self._down_why}; "
                "nothing was written, send it again",
            )
        if unknown:
            raise SchemasUnknown(unknown if len(unknown) <= IDS_AT_ONCE else set(list(unknown)[:IDS_AT_ONCE]))
        if self._put_off:
            self._keep_order(place, header)

    def _sort(
        self,
        rule: SubjectRule,
        prefixes: Iterable[bytes],
        faults: dict[tuple[str, bytes], str],
        unknown: set[Question],
    ) -> None:
        for prefix in prefixes:
            question = (int.from_bytes(prefix[1:]), rule)
            if len(prefix) == PREFIX and not prefix[0] and question in self._registered:
                continue
            fault = _shape_fault(rule.field, prefix)
            if fault is None and question in self._refused:
                until, why = self._refused[question]
                if monotonic() < until:
                    fault = why
                else:
                    del self._refused[question]
            if fault is not None:
                faults[rule.field, prefix] = fault
            else:
                unknown.add(question)

    def _put_off_first(self, place: Place, header: BatchHeader) -> None:
        """A partition takes any first sequence of a producer it does not know. So that a batch in flight behind this
        one does not become the first, what must come first is remembered."""
        if header.producer_id < 0 or self._out_of_turn(place, header):
            return
        if len(self._put_off) >= _REMEMBERED:
            del self._put_off[next(iter(self._put_off))]
        self._put_off[*place, header.producer_id] = (header.producer_epoch, header.base_sequence)

    def _out_of_turn(self, place: Place, header: BatchHeader) -> bool:
        first = self._put_off.get((*place, header.producer_id))
        return first is not None and header.producer_epoch == first[0] and header.base_sequence > first[1]

    def _keep_order(self, place: Place, header: BatchHeader) -> None:
        if self._out_of_turn(place, header):
            raise KafkaError(
                ErrorCode.out_of_order_sequence_number,
                f"a batch before sequence {header.base_sequence} of producer {header.producer_id} is to be sent again",
            )
        self._put_off.pop((*place, header.producer_id), None)

    # -- from the registry -----------------------------------------------------------------------------------------

    async def look_up(self, questions: Iterable[Question]) -> None:
        """Returns when every question is answered, one way or the other. A client that goes away ends no look-up."""
        await asyncio.wait([self._look_up(question) for question in questions])

    async def close(self) -> None:
        self._urls = []  # whoever still waits is told to come again
        for task in self._asked.values():
            task.cancel()
        await asyncio.gather(*self._asked.values(), return_exceptions=True)

    def _look_up(self, question: Question) -> asyncio.Task[None]:
        task = self._asked.get(question)
        if task is None:
            task = self._asked[question] = asyncio.get_running_loop().create_task(self._ask(question))
            task.add_done_callback(lambda _: self._asked.pop(question, None))
        return task

    async def _ask(self, question: Question) -> None:
        try:
            async with asyncio.timeout(LOOK_UP_SECONDS):
                fault = await self._fault(question)
                if fault is not None:
                    await asyncio.sleep(SECOND_LOOK_SECONDS)
                    fault = await self._fault(question)
        except TimeoutError:
            self._down(f"no answer in {LOOK_UP_SECONDS:g} s")
        except NoAnswer as error:
            self._down(str(error))
        except Exception as error:  # a bug must not be asked for again at once
            log.error("the look-up of schema id %d failed", question[0], exc_info=error)
            self._down("the broker failed to ask the registry: its log says why")
        else:
            if fault is None:
                self._registered.add(question)
                return
            if len(self._refused) >= _REMEMBERED:
                self._refused.clear()
            self._refused[question] = (monotonic() + REFUSED_SECONDS, fault)

    def _down(self, why: str) -> None:
        self._down_until = monotonic() + DOWN_SECONDS
        self._down_why = why
        self._quiet.warning("", "records are not taken, their schemas cannot be checked: %s", why)

    async def _fault(self, question: Question) -> str | None:
        """Why the schema is not registered as it should be; None if it is. The first instance that knows it decides."""
        fault = unanswered = None
        for url in list(self._urls):
            try:
                fault = _printable(await self._fault_at(url, *question))
            except NoAnswer as error:
                unanswered = error
                continue
            if unanswered is not None and self._urls:  # the one that answers is the first to be asked from now on
                self._urls = [url, *(other for other in self._urls if other != url)]
            if fault is None:
                return None
        if fault is None:
            raise unanswered or NoAnswer("no registry is known")
        return fault

    async def _fault_at(self, url: str, schema_id: int, rule: SubjectRule) -> str | None:
        registered = await self._get(url, f"/schemas/ids/{schema_id}/subjects", list)
        if registered is None:
            return f"the registry has no schema with id {schema_id}"
        names: frozenset[str] = frozenset()
        if rule.needs_names:
            schema = await self._get(url, f"/schemas/ids/{schema_id}", dict)
            if schema is None:
                return f"the registry has no schema with id {schema_id}"
            names = record_names(str(schema.get("schemaType", "AVRO")), str(schema.get("schema", "")))
            if not names:
                return f"schema id {schema_id} names no record type, which {rule.strategy.rpartition('.')[2]} needs"
        subjects = rule.subjects(names)
        if any(subject in registered for subject in subjects):
            return None
        return f"schema id {schema_id} is not registered under the subject {' or '.join(subjects[:3])}"

    async def _get(self, url: str, path: str, kind: type) -> Any:
        """The JSON of an answer; None where the registry says that there is no such schema."""
        async with self._connections:
            status, body = await get(url, path, ANSWER_SECONDS)
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError):
            raise NoAnswer(f"{url} does not answer as a schema registry (HTTP {status})") from None
        if status == 404 and isinstance(answer, dict) and answer.get("error_code") == 40403:
            return None
        if status != 200 or not isinstance(answer, kind):
            raise NoAnswer(f"{url} answers with HTTP {status}")
        return answer


def _printable(text: str | None) -> str | None:
    """A sentence with names out of a schema, fit for a response."""
    return None if text is None else text[:_LONGEST_SENTENCE].encode(errors="replace").decode()


def _shape_fault(field: str, prefix: bytes) -> str | None:
    if len(prefix) < PREFIX:
        return f"the {field} has {len(prefix)} bytes, too few for a schema id"
    if prefix[0]:
        return f"the {field} does not begin with a schema id: its first byte is 0x{prefix[0]:02x}, not 0x00"
    if prefix[1] & 0x80:
        return f"the {field} begins with a negative schema id"
    return None


def _refusal(place: Place, batch: Buffer, header: BatchHeader, faults: dict[tuple[str, bytes], str]) -> RefusedRecords:
    found: list[tuple[int, str]] = []
    for index, record in enumerate(records(batch, 0, header)):
        for field, content in (("key", record.key), ("value", record.value)):
            fault = None if content is None else faults.get((field, content[:PREFIX]))
            if fault is not None:
                found.append((index, fault))
                break
        if len(found) == RECORD_ERRORS:
            break
    index, fault = found[0]
    return RefusedRecords(f"{place[0]} takes records with registered schemas only; record {index}: {fault}", found)
