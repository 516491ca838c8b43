"""The rules of a schema as a function: what is done with a value before it is written, or after it was read.

| type      | kind                  | what it does                                                              |
| CEL       | CONDITION, TRANSFORM  | an expression over `message`: must be true, or is the new value           |
| CEL_FIELD | CONDITION, TRANSFORM  | over `value`, `name`, `fullName`, `typeName`, `tags`, `message`, per field |
| ENCRYPT   | TRANSFORM             | encrypts fields on writing, decrypts them on reading                      |
| MASK      | TRANSFORM             | hides fields, on reading from those who lack the key; Caudal's own        |

Rules that work field by field take the fields that have one of the rule's tags; without tags, all. Reading runs the
rules backwards, so that what was done last is undone first, and masks at the end. A rule that fails is a SerdeError;
with onFailure NONE the value passes as it was. DLQ is an error too: where bad records go is for the application to
say (`on_bad_record`, `on_produce_error`). Left out: migrationRules; encodingRules are refused, for a value that should
have been encrypted must not pass.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from caudal.serde.rules.cel import SKIPPED, compiled
from caudal.serde.rules.encryption import Cipher, NoKey, Sealed, SealedBytes, key_named
from caudal.serde.rules.masking import Mask
from caudal.serde.rules.shapes import Field, Shape, Visit, walked
from caudal.serde.serde import SchemasUnavailable, SerdeError

Run = Callable[[Any], Any]
WRITE, READ = "WRITE", "READ"
_KEY = "encrypt.kek.name"


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    kind: str
    mode: str
    type: str
    expr: str
    tags: frozenset[str]
    params: Mapping[str, str]
    on_success: str
    on_failure: str

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Rule:
        return cls(
            name=str(body.get("name", "")),
            kind=str(body.get("kind") or "TRANSFORM").upper(),
            mode=str(body.get("mode") or "WRITEREAD").upper(),
            type=str(body.get("type") or "").upper(),
            expr=str(body.get("expr") or ""),
            tags=frozenset(body.get("tags") or ()),
            params=body.get("params") or {},
            on_success=str(body.get("onSuccess") or "NONE"),
            on_failure=str(body.get("onFailure") or "ERROR"),
        )

    def runs_on(self, mode: str) -> bool:
        return self.mode in (mode, "WRITEREAD")

    def action(self, actions: str, mode: str) -> str:
        """ "NONE,ERROR" is NONE on writing and ERROR on reading."""
        parts = [part.strip().upper() for part in actions.split(",")]
        return parts[-1] if mode == READ and len(parts) > 1 else parts[0]


def rules_of(
    rule_set: Mapping[str, Any], metadata: Mapping[str, Any] | None, shape: Callable[[], Shape], mode: str
) -> Run | None:
    """What is done with a value on WRITE or READ: gives the value to go on with, or raises SerdeError. None: nothing.

    `shape` is asked for only where a rule works field by field.
    """
    for body in rule_set.get("encodingRules") or ():
        if not body.get("disabled"):
            raise SerdeError(f"The rule '{body.get('name')}' is an encoding rule, and those are not supported.")
    rules = [Rule.of(body) for body in rule_set.get("domainRules") or () if not body.get("disabled")]
    chosen = [rule for rule in rules if rule.runs_on(mode)]
    if mode == READ:
        chosen.reverse()
        chosen.sort(key=lambda rule: rule.type == "MASK")
    maker = _Maker(metadata or {}, shape)
    runs = [maker.run(rule, mode, rules) for rule in chosen]
    if len(runs) < 2:
        return runs[0] if runs else None

    def run(value: Any) -> Any:
        for each in runs:
            value = each(value)
        return value

    return run


class _Maker:
    def __init__(self, metadata: Mapping[str, Any], shape: Callable[[], Shape]) -> None:
        patterns = metadata.get("tags") or {}
        self._tagged = [(_pattern(pattern), frozenset(tags)) for pattern, tags in patterns.items()]
        self._shape_of = shape
        self._shape: Shape | None = None

    def run(self, rule: Rule, mode: str, rules: list[Rule]) -> Run:
        """The rule with what follows its success or failure."""
        failed, done = rule.action(rule.on_failure, mode), rule.action(rule.on_success, mode)
        try:
            execute = self._execute(rule, mode, rules)
        except SchemasUnavailable:
            raise  # says nothing about the rule: it must not pass for one that failed
        except ValueError as error:  # the rule itself is broken
            if failed == "NONE":
                return lambda value: value
            raise SerdeError(f"The rule '{rule.name}' cannot be run: {str(error).rstrip('.')}.") from None

        def run(value: Any) -> Any:
            try:
                result = execute(value)
            except ValueError as error:
                if failed == "NONE":
                    return value
                raise SerdeError(f"The rule '{rule.name}' refuses the value: {str(error).rstrip('.')}.") from None
            if done not in ("NONE", ""):
                raise SerdeError(f"The rule '{rule.name}' holds, and its onSuccess is {done}.")
            return result

        return run

    def _execute(self, rule: Rule, mode: str, rules: list[Rule]) -> Run:
        if rule.kind not in ("CONDITION", "TRANSFORM"):
            raise ValueError(f"its kind is {rule.kind}; there are CONDITION and TRANSFORM")
        if rule.type == "CEL":
            return _cel(rule)
        if rule.type not in ("CEL_FIELD", "ENCRYPT", "MASK"):
            raise ValueError(f"its type is {rule.type or 'missing'}; there are CEL, CEL_FIELD, ENCRYPT and MASK")
        if rule.type != "CEL_FIELD" and rule.kind != "TRANSFORM":
            raise ValueError(f"{rule.type} is of the kind TRANSFORM")
        visit = {"CEL_FIELD": _cel_field, "ENCRYPT": _encrypt, "MASK": _mask}[rule.type](rule, mode, rules)
        if visit is None:
            return lambda value: value
        chosen = self._chosen(rule, visit)
        if self._shape is None:
            self._shape = self._shape_of()
        shape = self._shape
        return lambda value: walked(shape, value, chosen)

    def _chosen(self, rule: Rule, visit: Visit) -> Visit:
        """Only the fields with the rule's tags; errors name the field."""
        tags_of: dict[Field, frozenset[str]] = {}

        def visited(field: Field, type_name: str, value: Any, record: Any) -> Any:
            tags = tags_of.get(field)
            if tags is None:
                more = [tags for pattern, tags in self._tagged if pattern.fullmatch(field.full_name)]
                tags = tags_of[field] = field.tags.union(*more)
            if rule.tags and rule.tags.isdisjoint(tags):
                return value
            try:
                return visit(Field(field.name, field.full_name, tags), type_name, value, record)
            except ValueError as error:
                raise ValueError(f"the field '{field.full_name}': {error}") from None

        return visited


def _cel(rule: Rule) -> Run:
    evaluate = compiled(rule.expr)
    return lambda value: _outcome(rule, value, evaluate({"message": value}))


def _cel_field(rule: Rule, mode: str, rules: list[Rule]) -> Visit:
    evaluate = compiled(rule.expr)

    def visit(field: Field, type_name: str, value: Any, record: Any) -> Any:
        variables = {
            "value": value,
            "name": field.name,
            "fullName": field.full_name,
            "typeName": type_name,
            "tags": sorted(field.tags),
            "message": record,
        }
        return _outcome(rule, value, evaluate(variables))

    return visit


def _outcome(rule: Rule, value: Any, result: Any) -> Any:
    """What the expression's result makes of the value."""
    if result is SKIPPED:
        return value
    if rule.kind == "TRANSFORM":
        return result
    if result is not True:
        raise ValueError(f"{rule.expr.strip()!r} is not true")
    return value


def _encrypt(rule: Rule, mode: str, rules: list[Rule]) -> Visit:
    name = rule.params.get(_KEY)
    if not name:
        raise ValueError(f"the parameter {_KEY} must name the key")
    kms = rule.params.get("encrypt.kms.type", "local")
    if kms not in ("local", "local-kms"):
        raise ValueError(f"encrypt.kms.type is {kms!r}; keys are local here")
    try:
        cipher = Cipher(name)
    except NoKey:
        hidden = any(each.type == "MASK" and each.runs_on(READ) and each.tags >= rule.tags for each in rules)
        if mode == WRITE or not hidden:
            raise
        return lambda field, type_name, value, record: (
            SealedBytes(value) if isinstance(value, bytes) else Sealed(value) if isinstance(value, str) else value
        )
    change = cipher.seal if mode == WRITE else cipher.open
    return lambda field, type_name, value, record: change(value)


def _mask(rule: Rule, mode: str, rules: list[Rule]) -> Visit | None:
    """None: this reader has the key, so nothing is hidden."""
    name = rule.params.get(_KEY)
    if name and mode == READ:
        try:
            key_named(name)
            return None
        except NoKey:
            pass
    mask = Mask(rule.params)
    return lambda field, type_name, value, record: mask(value)


def _pattern(text: str) -> re.Pattern[str]:
    """`*` is anything but a dot, `**` anything, `?` one character."""
    parts = re.split(r"(\*\*|\*|\?)", text)
    known = {"**": ".*", "*": r"[^.]*", "?": r"[^.]"}
    return re.compile("".join(known.get(part, re.escape(part)) for part in parts))
