"""The program's classes, as Python classes whose methods are interpreted."""

from __future__ import annotations

from gradguard.ir import nodes as ir
from gradguard.replay.evaluate import evaluate
from gradguard.replay.functions import Steps
from gradguard.replay.invoke import decorated
from gradguard.replay.outside import Namespace
from gradguard.replay.scopes import Frame, resolved
from gradguard.replay.session import Session
from gradguard.replay.value import Value
from gradguard.replay.wild import Wild, unknown

# What Python would run on its own, at times that nobody chose.
_LEFT_OUT = ("__del__", "__init_subclass__", "__class_getitem__", "__set_name__", "__slots__", "__reduce__")
_OPEN = "_gradguard_open"


def define_class(frame: Frame, node: ir.ClassDef) -> Steps:
    """Execute a class statement and bind its name."""
    session = frame.session
    bases: list[Value] = []
    for base in node.bases:
        if base.name is None and not base.star:
            bases.append((yield from evaluate(frame, base.value)))
    decorators = []
    for decorator in node.decorators:
        decorators.append((yield from evaluate(frame, decorator)))
    cell: list[Value] = []
    inner = frame.inner({}, is_class=True, klass=cell, function=None)
    from gradguard.replay.execute import execute

    yield from execute(inner, node.body)
    namespace = {name: resolved(inner.values, name) for name in list(inner.values) if name not in _LEFT_OUT}
    namespace["__module__"] = "__main__"
    made = make_class(session, node.name, bases, namespace)
    cell.append(made)
    session.classes[frame.site(node.at)] = made
    value: Value = made
    for decorator in reversed(decorators):
        value = decorated(frame, decorator, value)
    frame.bind(node.name, value)


def make_class(session: Session, name: str, bases: list[Value], namespace: dict[str, Value]) -> type:
    """A class with known bases as they are; an unknown base becomes one that has whatever is asked for."""
    torch = session.backend.torch
    known = [base for base in bases if isinstance(base, type) and base is not object]
    is_open = len(known) < len([base for base in bases if base is not object])
    if is_open:
        has_forward = "forward" in namespace or "training_step" in namespace
        is_module = any(issubclass(base, torch.nn.Module) for base in known)
        hints = [hint_of(base) for base in bases]
        named = any(hint.endswith(("Module", "Model", "Layer")) for hint in hints)
        if (has_forward or named) and not is_module:
            known.append(torch.nn.Module)
    namespace.setdefault(_OPEN, is_open or any(getattr(base, _OPEN, False) for base in known))
    if namespace[_OPEN]:
        _opened(session, namespace, known)
    try:
        return type(name, tuple(known), namespace)
    except TypeError:
        return type(name, tuple(known[:1]) if known[:1] != [type] else (), namespace)


def hint_of(base: Value) -> str:
    """What an unknown base goes by."""
    if isinstance(base, Wild):
        return base.hint
    return base.path.rsplit(".", 1)[-1] if isinstance(base, Namespace) else ""


def _opened(session: Session, namespace: dict[str, Value], known: list[type]) -> None:
    """Let the objects of a class answer to everything, as what they inherit is unknown."""
    is_module = any(issubclass(base, session.backend.torch.nn.Module) for base in known)

    def missing(self: Value, name: str) -> Value:
        if is_module:
            try:
                return session.backend.torch.nn.Module.__getattr__(self, name)
            except AttributeError:
                pass
        if name.startswith("__"):
            raise AttributeError(name)
        made = unknown(session, name)
        object.__setattr__(self, name, made)
        return made

    namespace.setdefault("__getattr__", missing)
    if "__init__" not in namespace:
        namespace["__init__"] = _open_init(session, known, is_module)


def _open_init(session: Session, known: list[type], is_module: bool) -> Value:
    def initialise(self: Value, *args: Value, **kwargs: Value) -> None:
        if is_module:
            session.backend.torch.nn.Module.__init__(self)
        for key, value in kwargs.items():
            setattr(self, key, value)

    return initialise


def as_data_class(session: Session, klass: Value) -> Value:
    """`@dataclass`: what is passed by name becomes a field, what is not is the class's default or unknown."""
    if not isinstance(klass, type):
        return lambda given: as_data_class(session, given)

    def initialise(self: Value, *args: Value, **kwargs: Value) -> None:
        for key, value in kwargs.items():
            setattr(self, key, value)
        after = getattr(self, "__post_init__", None)
        if after is not None:
            after()

    def missing(self: Value, name: str) -> Value:
        if name.startswith("__"):
            raise AttributeError(name)
        made = unknown(session, name)
        object.__setattr__(self, name, made)
        return made

    if "__init__" not in vars(klass):
        klass.__init__ = initialise  # type: ignore[misc]
    if not hasattr(klass, "__getattr__"):
        klass.__getattr__ = missing  # type: ignore[attr-defined]
    setattr(klass, _OPEN, True)
    return klass


def instance_of(session: Session, klass: Value) -> Value:
    """An object of a class as its constructor leaves it with unknown arguments; bare where that fails."""
    try:
        return klass()
    except Exception:
        made = klass.__new__(klass)
        if isinstance(made, session.backend.torch.nn.Module):
            session.backend.torch.nn.Module.__init__(made)
        return made


__all__ = ["as_data_class", "define_class", "hint_of", "instance_of", "make_class"]
