"""The methods of a tensor."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gradguard.infer import sinks
from gradguard.infer.flags import set_flag
from gradguard.infer.frames import Frame
from gradguard.infer.lineage import lineage_of
from gradguard.infer.objects import member_of_opaque, view_of, written_into
from gradguard.infer.sites import Site
from gradguard.infer.state import State
from gradguard.infer.tensors import Operation, cut, operate, sum_of, walk
from gradguard.infer.values import NONE, Literal, Parameters, Tensor, Track, Tuple, Unknown

PAIRED = frozenset({"max", "min", "median", "mode", "nanmedian", "aminmax"})
ALWAYS_PAIRED = frozenset({"topk", "sort", "kthvalue", "cummax", "cummin"})
ROWS = frozenset({"unbind", "split", "chunk", "tensor_split", "hsplit", "vsplit", "split_with_sizes"})
MAYBE_ITSELF = frozenset({"to", "cpu", "float", "type", "type_as", "contiguous"})
NEVER_COPYING = frozenset({"retain_grad", "data_ptr"})
FILLING = frozenset(
    {"zero_", "fill_", "normal_", "uniform_", "exponential_", "random_", "bernoulli_", "cauchy_"}
)


def tensor_method(
    frame: Frame,
    state: State,
    base: Tensor,
    name: str,
    args: list[Any],
    keywords: dict[str, Any],
    site: Site,
    subject: str,
) -> Any:
    """`tensor.name(...)`."""
    facts = frame.run.facts
    sinks.gradient_used(frame, state, base)
    if name in facts.lists["backward.methods"]:
        sinks.backward_asked(frame, state, base, subject, site)
        return NONE
    if facts.has("backward.hooks", name):
        sinks.hook_registered(frame, state, base, subject, site)
        state.facts[f"t{base.origin}.retained"] = True
        return frame.run.unknown(name)
    if name == "requires_grad_":
        return _flag(frame, state, base, args, keywords, site)
    if name in ("parameters", "named_parameters") and base.opaque:
        return Parameters(base, name.startswith("named"))
    if facts.has("assume.accessors", name):
        return member_of_opaque(frame, base) if base.opaque else frame.run.unknown(name)
    if facts.has("cuts.plain", name):
        return frame.run.unknown(name, "setting")
    if name in ("detach_", "data_"):
        return _detach_in_place(frame, state, base, site)
    if _is_number_query(frame, name):
        return cut(frame, state, site, base, name, number=True)
    if facts.has("cuts.methods", name) or (facts.has("cuts.integers", name) and name != "all"):
        number = facts.has("cuts.numbers", name)
        return cut(frame, state, site, base, name, number=number, integer=facts.has("cuts.integers", name))
    if name in ("all", "any"):
        return cut(frame, state, site, base, name, integer=True)
    if facts.has("tensor.identities", name):
        return _identity(frame, state, base, name, args, site)
    if facts.has("tensor.views", name) and not base.opaque:
        view = view_of(frame, state, site, base, name)
        return replace(view, opaque=True) if name in ROWS and isinstance(view, Tensor) else view
    if name.endswith("_") and not name.endswith("__"):
        return _in_place(frame, state, base, name, args, keywords, site)
    if base.opaque and name in ("train", "eval"):
        return base
    return tensor_function(frame, state, name, [base, *args], keywords, site)


def _is_number_query(frame: Frame, name: str) -> bool:
    return frame.run.facts.has("cuts.numbers", name)


def _flag(
    frame: Frame, state: State, base: Tensor, args: list[Any], keywords: dict[str, Any], site: Site
) -> Any:
    flag = state.resolve(args[0] if args else keywords.get("requires_grad", Literal(True)))
    wanted = bool(flag.value) if isinstance(flag, Literal) else None
    return set_flag(frame, state, base, wanted, site, ".requires_grad_()")


def _detach_in_place(frame: Frame, state: State, base: Tensor, site: Site) -> Any:
    if state.mode.inference:
        return base
    detached = cut(frame, state, site, base, "detach_")
    if isinstance(detached, Tensor):
        detached = replace(detached, origin=base.origin)
        state.change(base, detached)
    return detached


def _identity(frame: Frame, state: State, base: Tensor, name: str, args: list[Any], site: Site) -> Any:
    """`.to()` and its kin may return the tensor itself or a converted copy."""
    if name == "type" and _is_integer_type(state, args):
        return cut(frame, state, site, base, "type", integer=True)
    if name == "to" and _is_integer_type(state, args):
        return cut(frame, state, site, base, "to", integer=True)
    if base.track in (Track.UNTRACKED, Track.DATA, Track.VIEW):
        # A copy made outside of the guard is an ordinary tensor, and whether this copies is not known.
        inference = base.inference if state.mode.inference or name in NEVER_COPYING else None
        return replace(
            base,
            origin=frame.run.fresh(),
            made=True,
            opaque=base.opaque,
            inference=inference,
            lineage=lineage_of(base),
        )
    if base.track is Track.LEAF and state.mode.records:
        may_be_itself = name in MAYBE_ITSELF
        return Tensor(
            Track.TRACKED,
            frame.run.fresh(),
            made=True,
            would=True,
            converted=None if may_be_itself else base.converted,
            opaque=may_be_itself,
            depth=frame.depth,
            lineage=lineage_of(base),
        )
    if state.mode.records is False:
        return frame.run.unknown(name) if base.track is not Track.CONDITIONAL else base
    return operate(frame, state, site, (base,), Operation(name, linear=True))


def _is_integer_type(state: State, args: list[Any]) -> bool:
    from gradguard.infer.values import Known

    kinds = ("int", "long", "bool", "uint8", "int8", "int16", "int32", "int64", "LongTensor", "BoolTensor")
    return any(
        isinstance(value, Known) and value.path.rsplit(".", 1)[-1] in kinds
        for value in map(state.resolve, args)
    )


def _in_place(
    frame: Frame,
    state: State,
    base: Tensor,
    name: str,
    args: list[Any],
    keywords: dict[str, Any],
    site: Site,
) -> Any:
    if name in FILLING and not any(isinstance(state.resolve(a), Tensor) for a in args):
        return base
    for operand in (*args, *keywords.values()):
        for value in walk(state, operand):
            if isinstance(value, Tensor | Unknown):
                written_into(frame, state, state.resolve(base), value, site)
    return state.resolve(base)


def tensor_function(
    frame: Frame, state: State, name: str, operands: list[Any], keywords: dict[str, Any], site: Site
) -> Any:
    """A function of tensors, as `torch.name(...)` or as a method."""
    facts = frame.run.facts
    values = [
        *operands,
        *(v for k, v in keywords.items() if k not in ("dim", "keepdim", "dtype", "device", "out")),
    ]
    if name in ("add", "sub", "subtract", "rsub") and len(operands) >= 2:
        return sum_of(frame, state, site, operands[0], operands[1], name)
    if name in ("mul", "div", "multiply", "divide", "true_divide") and len(operands) >= 2:
        from gradguard.infer.expressions import arithmetic

        return arithmetic(frame, state, "*" if name.startswith("mul") else "/", operands[:2], site)
    operation = Operation(
        name,
        linear=facts.has("tensor.linear", name),
        lossy=facts.has("tensor.reductions", name) or facts.has("modules.losses", name),
        saves=facts.has("tensor.saving", name),
    )
    if facts.has("cuts.integers", name):
        return cut(frame, state, site, operands[0] if operands else NONE, name, integer=True)
    result = operate(frame, state, site, values, operation)
    if _is_paired(state, name, operands, keywords):
        indices = cut(frame, state, site, operands[0], f"{name} indices", integer=True)
        return Tuple((result, indices))
    if isinstance(result, Tensor) and name in ROWS:
        return replace(result, opaque=True)
    return result


def _is_paired(state: State, name: str, operands: list[Any], keywords: dict[str, Any]) -> bool:
    if name in ALWAYS_PAIRED:
        return True
    if name not in PAIRED:
        return False
    if "dim" in keywords or "axis" in keywords:
        return True
    return len(operands) > 1 and isinstance(state.resolve(operands[1]), Literal)
