"""Classes and their objects, modules and optimizers among them."""

from __future__ import annotations

from typing import Any

from gradguard.frozen import dataclass
from gradguard.infer import entering
from gradguard.infer.bases import (
    _CONTAINER_BASES,
    MODULE_METHODS,
    has_container,
    is_module,
    is_optimizer,
    member,
    outside_bases,
)
from gradguard.infer.describe import last_name
from gradguard.infer.frames import Frame
from gradguard.infer.joins import merge
from gradguard.infer.modes import Mode
from gradguard.infer.sites import Site
from gradguard.infer.state import State
from gradguard.infer.tensors import Operation, operate
from gradguard.infer.values import (
    NONE,
    Bound,
    Closure,
    Dict,
    Instance,
    Klass,
    Known,
    Lineage,
    List,
    Literal,
    Super,
    Tensor,
    Track,
    Tuple,
    Unknown,
)
from gradguard.ir import nodes as ir


@dataclass(frozen=True, slots=True)
class Forward:
    """One run of a trainable module: the mode, the call, the frame that made it, the root of the run, and whether a
    setting decided that it runs like this."""

    mode: Mode
    site: Site
    frame: Frame
    root: Any
    settled: bool


def bind(frame: Frame, state: State, owner: Any, klass: Any, value: Any, site: Site) -> Any:
    """A class attribute as seen from an object."""
    if not isinstance(value, Closure):
        return value
    match value.kind:
        case "static":
            return value
        case "class":
            return Bound(klass, value)
        case "property":
            return entering.enter(frame, state, value, [owner], {}, site)
        case "function":
            return Bound(owner, value)
        case _:
            return value


def instance_attribute(frame: Frame, state: State, base: Instance, name: str, expr: ir.Attr) -> Any:
    """`object.name`: a field, a method, a property, or something the outside base has."""
    value = state.read(base.id, name)
    if value is not None:
        return value
    found = member(frame, state, base.klass, name)
    if found is not None:
        return bind(frame, state, base, base.klass, found, frame.site(expr.at))
    if name == "__class__":
        return base.klass
    if is_module(frame, base):
        if name in MODULE_METHODS:
            return Bound(base, name)
        if name in ("weight", "bias") and isinstance(base.klass, Known):
            return module_parameter(frame, state, base, name)
    if isinstance(base.klass, Known) or has_container(base):
        return Bound(base, name)
    if is_optimizer(frame, base.klass) and name in ("zero_grad", "state_dict", "step", "add_param_group"):
        return Bound(base, name)
    fallback = member(frame, state, base.klass, "__getattr__")
    hint = name
    value = Unknown(frame.run.fresh(), hint)
    if fallback is None or isinstance(fallback, Closure):
        state.write(base.id, name, value)
    return value


def module_parameter(frame: Frame, state: State, base: Instance, name: str) -> Any:
    """A framework module's own `weight` or `bias`: a leaf, or data where the module is frozen."""
    trainable = state.read(base.id, "#trainable")
    frozen = isinstance(trainable, Literal) and trainable.value is False
    leaf = Tensor(Track.DATA if frozen else Track.LEAF, frame.run.fresh())
    frame.run.owners[leaf.origin] = base
    state.write(base.id, name, leaf)
    return leaf


def super_attribute(frame: Frame, state: State, base: Super, name: str) -> Any:
    """`super().name`."""
    owner = base.owner
    klass = owner.klass if isinstance(owner, Instance) else owner
    found = member(frame, state, klass, name, base.klass)
    if found is not None and isinstance(found, Closure):
        return Bound(owner, found) if found.kind in ("function", "class") else found
    if found is not None:
        return found
    return Bound(owner, f"super.{name}")


def submodules(state: State, module: Instance) -> list[Instance]:
    """The modules held by a module's fields, lists and dicts."""
    found: list[Instance] = []

    def gather(value: Any, depth: int) -> None:
        value = state.resolve(value)
        match value:
            case Instance():
                found.append(value)
            case Tuple(items=items) if depth < 3:
                for item in items:
                    gather(item, depth + 1)
            case List(id=identity) | Dict(id=identity) if depth < 3:
                for field in list(state.fields(identity).values()):
                    gather(field, depth + 1)
            case _:
                return

    for key, field in list(state.fields(module.id).items()):
        if key in ("#items", "#rest") or not (isinstance(key, str) and key.startswith("#")):
            gather(field, 0)
    return found


def instantiate(
    frame: Frame, state: State, klass: Klass, args: list[Any], keywords: dict[str, Any], site: Site
) -> Any:
    """`Klass(...)`."""

    identity = frame.run.fresh()
    instance = Instance(identity, klass, tuple(args))
    state.allocate(identity)
    construct_outside(frame, state, instance, args, keywords)
    init = member(frame, state, klass, "__init__")
    if isinstance(init, Closure):
        entering.enter(frame, state, init, [instance, *args], keywords, site)
        return instance
    fields = dataclass_fields(state, klass)
    for name, value in zip(fields, args, strict=False):
        state.write(identity, name, value)
    for name, value in keywords.items():
        state.write(identity, name, value)
    return instance


def dataclass_fields(state: State, klass: Klass) -> list[str]:
    """The names that a class without a constructor takes in order: its fields, not its methods."""
    return [
        key
        for key, value in state.fields(klass.id).items()
        if isinstance(key, str) and not key.startswith(("_", "#")) and not isinstance(value, Closure | Klass)
    ]


def construct_outside(
    frame: Frame, state: State, instance: Instance, args: list[Any], keywords: dict[str, Any]
) -> None:
    """What the constructor of an outside base leaves in the object."""
    facts = frame.run.facts
    paths = outside_bases(instance.klass)
    if any(path in _CONTAINER_BASES for path in paths) and isinstance(instance.klass, Klass):
        state.write(instance.id, "#items", Tuple(()))
    if any(facts.has("modules.containers", path) for path in paths):
        fill_container(frame, state, instance, args)


def fill_container(frame: Frame, state: State, instance: Instance, args: list[Any]) -> None:
    """The children of a Sequential, ModuleList or ModuleDict."""
    from gradguard.infer import iteration

    path = outside_bases(instance.klass)[0]
    if path.endswith("Dict"):
        source = state.resolve(args[0]) if args else None
        if isinstance(source, Dict):
            for key, value in state.fields(source.id).items():
                state.write(instance.id, key, value)
        return
    items = list(args)
    if path.endswith("List") or (len(args) == 1 and not isinstance(state.resolve(args[0]), Instance)):
        known = iteration.known_items(frame, state, args[0]) if args else []
        if known is None:
            state.write(instance.id, "#rest", iteration.element(frame, state, args[0], ir.NOWHERE))
        items = known or []
    state.write(instance.id, "#items", Tuple(tuple(items)))


def instance_item(frame: Frame, state: State, base: Instance, index: Any, expr: ir.Item) -> Any:
    """`object[index]`."""
    from gradguard.infer.objects import item_of_dict, item_of_items

    items = state.read(base.id, "#items")
    if items is not None:
        return item_of_items(frame, state, items.items, state.read(base.id, "#rest"), index, base)
    getter = member(frame, state, base.klass, "__getitem__")
    if isinstance(getter, Closure):
        return entering.enter(frame, state, getter, [base, index], {}, frame.site(expr.at))
    if isinstance(index, Literal):
        found = state.read(base.id, ("key", index.value))
        if found is not None:
            return found
    if any(isinstance(key, tuple) for key in state.fields(base.id)):
        return item_of_dict(frame, state, base.id, index)
    return frame.run.unknown(last_name(expr.base))


def set_instance_item(frame: Frame, state: State, base: Instance, index: Any, value: Any) -> None:
    """`object[index] = value`."""
    items = state.read(base.id, "#items")
    if items is not None and isinstance(index, Literal) and isinstance(index.value, int):
        changed = list(items.items)
        if -len(changed) <= index.value < len(changed):
            changed[index.value] = value
            state.write(base.id, "#items", Tuple(tuple(changed)))
            return
    if isinstance(index, Literal):
        state.write(base.id, ("key", index.value), value)


def iterated(frame: Frame, state: State, base: Instance, at: int) -> Any:
    """An element of iterating over an object."""
    from gradguard.infer import iteration

    getter = member(frame, state, base.klass, "__iter__")
    if isinstance(getter, Closure):
        result = entering.enter(frame, state, getter, [base], {}, frame.site(at))
        if result is not base and not (isinstance(result, Instance) and result.id == base.id):
            return iteration.element(frame, state, result, at)
        step = member(frame, state, base.klass, "__next__")
        if isinstance(step, Closure):
            return entering.enter(frame, state, step, [base], {}, frame.site(at))
        return frame.run.unknown()
    getter = member(frame, state, base.klass, "__getitem__")
    if isinstance(getter, Closure):
        return entering.enter(
            frame, state, getter, [base, frame.run.unknown("i", "number")], {}, frame.site(at)
        )
    values = [v for k, v in state.fields(base.id).items() if isinstance(k, tuple)]
    if values:
        joined = values[0]
        for value in values[1:]:
            joined = merge(joined, value)
        return joined
    path = base.klass.path if isinstance(base.klass, Known) else ""
    return iteration._unknown_element(frame, path.rsplit(".", 1)[-1], "")


def call_module(
    frame: Frame, state: State, module: Instance, args: list[Any], keywords: dict[str, Any], site: Site
) -> Any:
    """`module(...)`: its forward, then its hooks."""
    from gradguard.infer import calls

    result = state.resolve(_forward(frame, state, module, args, keywords, site))
    hooks = state.read(module.id, "#hooks")
    for hook in hooks.items if hooks is not None else ():
        replaced = calls.apply(frame, state, hook, [module, Tuple(tuple(args)), result], site)
        result = state.resolve(result)
        if isinstance(replaced, Tensor) and not isinstance(result, Unknown):
            result = replaced
    return result


def _forward(
    frame: Frame, state: State, module: Instance, args: list[Any], keywords: dict[str, Any], site: Site
) -> Any:
    from gradguard.infer import calls

    own = state.read(module.id, "forward")
    if own is not None:
        return calls.apply(frame, state, own, args, site, keywords)
    found = member(frame, state, module.klass, "forward")
    if isinstance(found, Closure):
        return entering.enter(frame, state, found, [module, *args], keywords, site)
    return outside_forward(frame, state, module, args, keywords, site)


def outside_forward(
    frame: Frame, state: State, module: Instance, args: list[Any], keywords: dict[str, Any], site: Site
) -> Any:
    """The forward of one of the framework's own modules."""
    facts = frame.run.facts
    paths = outside_bases(module.klass)
    path = next((p for p in paths if facts.starts("modules.prefixes", p)), paths[0] if paths else "")
    last = path.rsplit(".", 1)[-1]
    operands = [*args, *keywords.values()]
    if facts.has("modules.containers", path):
        return _sequential(frame, state, module, args, site)
    if facts.has("modules.parameter_free", last):
        return operate(frame, state, site, operands, Operation(last, lossy=last.endswith("Loss")))
    if facts.has("modules.base", path):
        return calls_unknown(frame, state, args, site)
    return parametrised(frame, state, module, operands, site, last)


def calls_unknown(frame: Frame, state: State, args: list[Any], site: Site) -> Any:
    """The forward of a base class that has none of its own."""
    from gradguard.infer import calls

    return calls.unknown_call(frame, state, frame.run.unknown("forward", "model"), args, {}, site, "forward")


def parametrised(
    frame: Frame, state: State, module: Instance, operands: list[Any], site: Site, name: str
) -> Any:
    """The forward of a framework module with parameters: tracked unless it is frozen and so is what goes in."""
    trainable = state.read(module.id, "#trainable")
    extra: list[Any] = []
    if trainable is None or (isinstance(trainable, Literal) and trainable.value):
        weights_of = Lineage(root=module.id, trained=True)
        extra = [Tensor(Track.LEAF, frame.run.fresh(), lineage=weights_of)]
        if state.mode.records is not False:
            frame.run.tracked_made += 1
        note_forward(frame, state, module, site)
    elif not isinstance(trainable, Literal):
        extra = [Unknown(frame.run.fresh(), name)]
    weights = state.read(module.id, "weight")
    note_inference_weights(frame, state, module, bool(extra), site)
    if isinstance(weights, Tensor) and extra and isinstance(extra[0], Tensor):
        extra = [state.resolve(weights)]
    tensors = [o for o in operands if isinstance(state.resolve(o), Tensor)]
    known = tensors or not operands
    operation = Operation(name, saves=True)
    if not known and not extra:
        return frame.run.unknown(name)
    return operate(frame, state, site, [*operands, *extra], operation)


def note_inference_weights(frame: Frame, state: State, module: Instance, trainable: bool, site: Site) -> None:
    """A module whose weights are inference tensors runs with recording on."""
    from gradguard.infer.events import ModuleMadeUnderInference

    made = state.read(module.id, "#inference")
    if isinstance(made, Literal) and state.mode.records and trainable:
        guard, where, how = made.value
        frame.run.made_under_inference.setdefault(
            module.id, ModuleMadeUnderInference(guard, where, how, site)
        )


def mark_inference(frame: Frame, state: State, module: Instance, how: str, site: Site) -> None:
    """Remember that a module's weights were made or replaced under inference mode."""
    pending, seen = [module], set()
    while pending:
        one = pending.pop()
        if one.id not in seen:
            seen.add(one.id)
            state.write(one.id, "#inference", Literal((state.mode.guard, site, how)))
            pending.extend(submodules(state, one))


def note_forward(frame: Frame, state: State, module: Instance, site: Site) -> None:
    """Remember under which modes a trainable module ran."""
    guard = state.mode.guard
    settled = frame.settled > 0 or (guard is not None and guard.varies)
    frame.run.module_calls.setdefault(module.id, []).append(
        Forward(state.mode, site, frame, frame.run.root, settled)
    )


def _sequential(frame: Frame, state: State, module: Instance, args: list[Any], site: Site) -> Any:
    from gradguard.infer import calls

    items = state.read(module.id, "#items")
    rest = state.read(module.id, "#rest")
    if items is None or (rest is not None and not items.items):
        return parametrised(frame, state, module, args, site, "Sequential")
    value = args[0] if args else NONE
    for item in items.items:
        value = calls.apply(frame, state, state.resolve(item), [value], site)
    return value
