"""The examples in the docstrings run: each gets an orders stream of its own, and `show` pipes records in and prints
what comes out. Every public method of the DSL has one."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

import caudal.plan
import caudal.serde
import caudal.streams
from caudal.plan.topology import SinkNode
from caudal.runtime.test_driver import TopologyTestDriver
from caudal.serde import Json, String
from caudal.streams import StreamsBuilder

Input = tuple[str, str, Any] | tuple[str, str, Any, int]


def order(user: str, amount: int, timestamp: int = 0) -> Input:
    return ("orders", user, {"user": user, "amount": amount}, timestamp)


def shower(names: dict[str, Any]) -> Callable[..., None]:
    def show(*inputs: Input) -> None:
        with TopologyTestDriver(names["builder"], start_time=0) as driver:
            topics = driver.topology.internal_topics.keys()
            sinks = [node for node in driver.topology.nodes if isinstance(node, SinkNode)]
            outputs = [node.topic for node in sinks if isinstance(node.topic, str) and node.topic not in topics]
            outputs += ["small", "large"] if any(not isinstance(node.topic, str) for node in sinks) else []
            for topic, key, value, *timestamp in inputs:
                driver.pipe_input(topic, key, value, timestamp[0] if timestamp else 0)
                for output in dict.fromkeys(outputs):
                    for record in driver.read_outputs(output):
                        print(f"{output}: {record.key} {record.value}")

    return show


def names_for_an_example(module: ModuleType) -> dict[str, Any]:
    builder = StreamsBuilder("app")
    names: dict[str, Any] = {
        **{name: getattr(caudal.serde, name) for name in caudal.serde.__all__},
        **{name: getattr(caudal.streams, name) for name in caudal.streams.__all__},
        **vars(module),
        "builder": builder,
        "order": order,
    }
    names["show"] = shower(names)
    if module.__name__.startswith("caudal.streams"):
        names["orders"] = builder.stream("orders", key=String(), value=Json())
    return names


def modules() -> Iterator[ModuleType]:
    for package in (caudal.plan, caudal.serde, caudal.streams):
        for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if found.name != "caudal.streams.application":
                yield importlib.import_module(found.name)


def examples() -> Iterator[Any]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    for module in modules():
        for test in finder.find(module, module.__name__):
            if test.examples:
                yield pytest.param(module, test, id=test.name)


@pytest.mark.parametrize(("module", "test"), list(examples()))
def test_example(module: ModuleType, test: doctest.DocTest) -> None:
    test.globs = names_for_an_example(module)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL)
    assert runner.run(test, out=report.append).failed == 0, "".join(report)


def test_every_public_method_has_an_example() -> None:
    missing = []
    for name in caudal.streams.__all__:
        exported = getattr(caudal.streams, name)
        if not inspect.isclass(exported) or not exported.__module__.startswith("caudal.streams"):
            continue
        if name in ("ProcessorContext", "Processor", "ValueTransformer", "Branches"):
            continue
        for method, function in vars(exported).items():
            # They need a broker and Spark; they are tested with the application.
            if method.startswith("_") or not inspect.isfunction(function) or method in ("start", "run", "run_batch"):
                continue
            if ">>>" not in (function.__doc__ or ""):
                missing.append(f"{name}.{method}")
    assert not missing
