"""The backward pass over a graph."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gradguard.runtime.graph import Edge, Grads, Node, next_sequence
from gradguard.runtime.hooks import run_tensor_hooks
from gradguard.runtime.modes import modes

if TYPE_CHECKING:
    from gradguard.runtime.tensor import Tensor


class _Targets:
    """Which nodes a pass for given inputs executes, and which gradients it captures."""

    def __init__(self, edges: Sequence[Edge], accumulate: bool, order: Sequence[Node]) -> None:
        self.captures: dict[Node, list[tuple[int, int]]] = {}
        self.needed: set[Node] = set()
        for index, (node, output_nr) in enumerate(edges):
            if accumulate:
                self.needed.add(node)
            else:
                self.captures.setdefault(node, []).append((output_nr, index))
        # ``order`` has every node after those its edges lead to.
        for node in order:
            for edge in node.next_edges:
                if edge is not None and self.executes(edge[0]):
                    self.needed.add(node)
                    break

    def executes(self, node: Node) -> bool:
        return node in self.needed or node in self.captures


class BackwardPass:
    """One pass: from root edges and their gradients to leaves, or to captured inputs."""

    def __init__(
        self,
        roots: Sequence[Edge],
        keep_graph: bool,
        targets: Sequence[Edge] | None = None,
        accumulate: bool = True,
    ) -> None:
        """Plan the pass; ``targets`` restricts it to what leads to them."""
        self._keep_graph = keep_graph
        self._dependencies, order = _explore(roots)
        self._targets = None if targets is None else _Targets(targets, accumulate, order)
        self._captured: list[Tensor | None] = [None] * (0 if targets is None else len(targets))
        self._buffers: dict[Node, list[Tensor | None]] = {}
        self._ready: list[tuple[int, int, Node]] = []

    def run(
        self, roots: Sequence[Edge], grads: Sequence[Tensor | None], create_graph: bool
    ) -> list[Tensor | None]:
        """Run; grad mode is ``create_graph`` meanwhile, whatever the caller's (torch 2.13)."""
        before = modes.grad, modes.pass_number, modes.targeted
        modes.grad = create_graph
        modes.pass_number = next_sequence()
        modes.targeted = self._targets is not None
        try:
            for (node, output_nr), grad in zip(roots, grads, strict=True):
                self._deliver(node, output_nr, grad)
            for node in {node: None for node, _ in roots}:
                if not self._dependencies.get(node):
                    self._schedule(node)
            while self._ready:
                self._evaluate(heapq.heappop(self._ready)[2])
        finally:
            modes.grad, modes.pass_number, modes.targeted = before
        return self._captured

    def _schedule(self, node: Node) -> None:
        heapq.heappush(self._ready, (-node.sequence, next_sequence(), node))

    def _deliver(self, node: Node, output_nr: int, grad: Tensor | None) -> None:
        buffer = self._buffers.setdefault(node, [])
        if len(buffer) <= output_nr:
            buffer.extend([None] * (max(output_nr + 1, len(node.outputs)) - len(buffer)))
        if grad is None:
            return
        present = buffer[output_nr]
        buffer[output_nr] = grad if present is None else present + grad

    def _evaluate(self, node: Node) -> None:
        grads: Grads = self._buffers.pop(node, [None])
        targets = self._targets
        if targets is not None:
            needed = node in targets.needed
            if not needed:
                grads = run_tensor_hooks(node, grads)
            for output_nr, index in targets.captures.get(node, ()):
                self._captured[index] = grads[output_nr]
            if not needed:
                return
        outputs = self._call(node, grads)
        for index, edge in enumerate(node.next_edges):
            if edge is None:
                continue
            following, output_nr = edge
            grad = outputs[index] if index < len(outputs) else None
            if grad is not None:
                grad = fitted(f"Function {node.name()} returned an ", index, grad, edge)
            self._dependencies[following] -= 1
            if targets is not None and not targets.executes(following):
                continue
            self._deliver(following, output_nr, grad)
            if not self._dependencies[following]:
                self._schedule(following)

    def _call(self, node: Node, grads: Grads) -> Grads:
        grads = run_tensor_hooks(node, grads)
        for pre_hook in list(node.node_pre_hooks.values()):
            replaced = pre_hook(tuple(grads))
            if replaced is not None:
                grads = replaced if isinstance(replaced, tuple) else (replaced,)
        outputs = node.apply(grads)
        if not self._keep_graph:
            node.release()
        for hook in list(node.node_hooks.values()):
            replaced = hook(tuple(outputs), tuple(grads))
            if replaced is not None:
                outputs = replaced if isinstance(replaced, tuple) else (replaced,)
        return outputs


def _explore(roots: Sequence[Edge]) -> tuple[dict[Node, int], list[Node]]:
    """Count the edges into each reachable node; list nodes, those led to first."""
    dependencies: dict[Node, int] = {}
    order: list[Node] = []
    seen: set[Node] = set()
    for root, _ in roots:
        if root in seen:
            continue
        seen.add(root)
        stack: list[tuple[Node, int]] = [(root, 0)]
        while stack:
            node, position = stack.pop()
            edges = node.next_edges
            while position < len(edges):
                edge = edges[position]
                position += 1
                if edge is None:
                    continue
                following = edge[0]
                dependencies[following] = dependencies.get(following, 0) + 1
                if following not in seen:
                    seen.add(following)
                    stack.append((node, position))
                    stack.append((following, 0))
                    break
            else:
                order.append(node)
    return dependencies, order


def fitted(prefix: str, index: int, grad: Tensor, edge: Edge) -> Tensor:
    """Give a gradient the shape and type of what it flows to.

    Raises:
        RuntimeError: the shape does not come from broadcasting; ``prefix`` says whose it is.
    """
    following, output_nr = edge
    if output_nr >= len(following.outputs):
        return grad
    shape, kind = following.outputs[output_nr]
    found = grad._array.shape
    if found != shape:
        if not _expandable(shape, found):
            raise RuntimeError(
                f"{prefix}invalid gradient at index {index} - got {list(found)} but expected "
                f"shape compatible with {list(shape)}"
            )
        from gradguard.runtime.ops.reduction import sum_to_shape

        grad = sum_to_shape(grad, shape)
    if grad._array.dtype != kind.numpy:
        from gradguard.runtime.ops.conversion import to

        grad = to(grad, kind)
    return grad


def _expandable(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    if len(shape) > len(target):
        return False
    return all(m in (1, n) for m, n in zip(reversed(shape), reversed(target), strict=False))
