"""`KStream.split()`: branches by predicate. Each record goes to the first branch that takes it, or to none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from caudal.plan.errors import PlanError
from caudal.plan.functions import Function
from caudal.plan.naming import checked_name
from caudal.plan.steps import Branch, PassThrough
from caudal.streams.functions import UserFunction, key_value

if TYPE_CHECKING:
    from caudal.streams.stream import KStream


class Branches(dict[str, "KStream"]):
    """The streams of a split by name, in order; the common prefix may be left out."""

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self.prefix = prefix

    def __missing__(self, name: str) -> KStream:
        if self.prefix + name in self:
            return self[self.prefix + name]
        raise KeyError(f"There is no branch '{name}'; there are: {', '.join(self)}.")


class BranchedStream:
    """A split that is being described; ends with `default_branch` or `no_default_branch`."""

    def __init__(self, stream: KStream, name: str | None) -> None:
        self._stream = stream
        self._graph = stream._graph
        self._node = self._graph.names.next("KSTREAM-BRANCH", name)
        self._predicates: list[Function] = []
        self._children: list[str] = []
        self._branches = Branches(self._node)
        self._ended = False
        self._graph.add_processor(
            self._node, lambda: Branch(tuple(self._predicates), tuple(self._children)), (stream._node,)
        )

    def branch(self, predicate: UserFunction, *, name: str | None = None) -> BranchedStream:
        """A branch for the records that the predicate takes. Its name is a suffix to the split's.

        >>> branches = orders.split(name="by-").branch("amount > 100", name="large").no_default_branch()
        >>> list(branches)
        ['by-large']
        """
        function = key_value(predicate, "branch()")
        self._add(name or str(len(self._predicates) + 1))
        self._predicates.append(function)
        return self

    def default_branch(self, *, name: str | None = None) -> Branches:
        """A branch for all others; gives all branches by name.

        >>> branches = orders.split(name="by-").branch("amount > 100").default_branch()
        >>> list(branches)
        ['by-1', 'by-0']
        """
        self._add(name or "0")
        self._ended = True
        return self._branches

    def no_default_branch(self) -> Branches:
        """Drops all others; gives the branches by name.

        >>> len(orders.split().branch("amount > 100").no_default_branch())
        1
        """
        self._ended = True
        return self._branches

    def _add(self, suffix: str) -> None:
        from caudal.streams.stream import KStream

        if self._ended:
            raise PlanError("This split has ended: add its branches before default_branch() or no_default_branch().")
        stream, graph = self._stream, self._graph
        graph.names.skip()
        child = graph.add_processor(checked_name(self._node + suffix), PassThrough(), (self._node,))
        self._children.append(child)
        self._branches[child] = KStream(graph, child, stream._key, stream._value, stream._sources, stream._key_changed)
