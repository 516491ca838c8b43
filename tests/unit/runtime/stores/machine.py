"""What all model tests share: a store and a model beside it, with commits, rollbacks, reopens and restores."""

from __future__ import annotations

import copy
import os
from typing import Any, ClassVar

from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tests.unit.runtime.stores.store_specs import Reopenable

from caudal.plan.topology import StoreSpec

# More by setting the variable; few by default, because every example opens files.
EXAMPLES = int(os.environ.get("STORE_EXAMPLES", "25"))
SETTINGS = settings(
    max_examples=EXAMPLES, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)


class StoreMachine(RuleBasedStateMachine):
    """Subclasses add rules that act on `self.store` and on `self.model`, and compare the two."""

    engine: ClassVar[str] = "memory"
    spec: ClassVar[StoreSpec]

    def __init__(self) -> None:
        super().__init__()
        self.opened = Reopenable(self.engine, [self.spec])
        self.model: Any = self.empty_model()
        self.committed_model: Any = self.empty_model()
        self.clock = 0

    def empty_model(self) -> Any:
        return {}

    @property
    def store(self) -> Any:
        return self.opened.state.stores[self.spec.name]

    def tick(self) -> int:
        self.clock += 1
        self.opened.state.set_stream_context(self.clock)
        return self.clock

    @rule()
    def commit(self) -> None:
        self.opened.commit()
        self.committed_model = copy.deepcopy(self.model)

    @rule()
    def put_between_changes_and_commit(self) -> None:
        """What comes after `changes` is visible, and not part of the commit."""
        self.opened.log += self.opened.state.changes()
        self.opened.commits += 1
        at_changes = copy.deepcopy(self.model)
        self.some_put()
        self.compare()
        self.opened.state.commit({"commit": self.opened.commits})
        self.committed_model = at_changes

    def some_put(self) -> None:
        raise NotImplementedError

    @rule()
    def rollback(self) -> None:
        self.opened.state.rollback()
        self.model = copy.deepcopy(self.committed_model)

    @rule()
    def abandon_after_changes(self) -> None:
        """The Kafka transaction failed: the changelog has nothing of it."""
        list(self.opened.state.changes())
        self.opened.state.rollback()
        self.model = copy.deepcopy(self.committed_model)

    @rule()
    def reopen(self) -> None:
        self.opened.reopen(clean=True)
        self.model = copy.deepcopy(self.committed_model)

    @rule()
    def take_over(self) -> None:
        self.opened.reopen(clean=False)
        self.model = copy.deepcopy(self.committed_model)

    @rule()
    def restore(self) -> None:
        self.opened.state.rollback()
        self.opened.restore()
        self.model = copy.deepcopy(self.committed_model)

    @invariant()
    def agrees(self) -> None:
        self.compare()

    def compare(self) -> None:
        raise NotImplementedError

    def teardown(self) -> None:
        self.opened.close()
