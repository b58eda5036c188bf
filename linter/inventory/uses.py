"""Guards in expressions: made, entered by hand, called as a function."""

from __future__ import annotations

from gradguard.inventory.found import Loose
from gradguard.inventory.givers import guards_of
from gradguard.inventory.reading import Frame, Reading
from gradguard.inventory.resolve import SETTING, dotted
from gradguard.inventory.senses import Local, Made, Path, Saved
from gradguard.inventory.spread import Reach, Rest, dedicated, reach
from gradguard.ir import nodes as ir
from gradguard.ir.walk import names_read, walk

_NOTHING = Reach((), None)
_ENTERING = ("__enter__", "__aenter__")
_LEAVING = ("__exit__", "__aexit__")
_STACKING = ("enter_context", "enter_async_context")
_CLOSING = (*_LEAVING, "close", "aclose")


def note_uses(reading: Reading, expr: ir.Expr, statement: ir.Stmt, rest: Rest, frame: Frame) -> None:
    """Note what an expression of a statement does with guards, and bind the names it binds."""
    for node in walk((expr,), into_functions=False):
        match node:
            case ir.Call(func=ir.Attr(base=base, name=name)) if name in _ENTERING:
                _enter(reading, base, node, rest, frame)
            case ir.Call(func=ir.Attr(base=base, name=name), args=(argument, *_)) if name in _STACKING:
                _enter_stacked(reading, base, argument.value, node, rest, frame)
            case ir.Call() if not _guarded_function(reading, node, frame):
                _make(reading, node, statement, rest, frame)
            case ir.Walrus(target=target, value=value):
                frame.bind(target, reading.resolver.senses(value, frame.scope))
            case ir.Lambda(function=function):
                reading.waiting.append(Local(function, frame.scope, None, frame.prefix))


def _enter(reading: Reading, base: ir.Expr, call: ir.Call, rest: Rest, frame: Frame) -> None:
    """`guard.__enter__()`, up to the `guard.__exit__(...)` on the same name."""
    name = dotted(base)
    for made in guards_of(reading, base, frame.scope):
        reached = reach(rest, _never, lambda one: bool(name) and _calls_method(one, name, _LEAVING))
        reading.note(frame, made, "entered", call.at, reached)


def _enter_stacked(
    reading: Reading, stack: ir.Expr, argument: ir.Expr, call: ir.Call, rest: Rest, frame: Frame
) -> None:
    """`stack.enter_context(guard)`, up to the end of the stack's with block or its `close()`."""
    name = dotted(stack)
    for made in guards_of(reading, argument, frame.scope):
        reached = reach(
            rest,
            lambda holder: bool(name) and dedicated(holder, name),
            lambda one: bool(name) and _calls_method(one, name, _CLOSING),
        )
        reading.note(frame, made, "entered", call.at, reached)


def _calls_method(statement: ir.Stmt, name: str, methods: tuple[str, ...]) -> bool:
    """Whether a statement is the call of one of the methods of the object `name`."""
    value = statement.value if isinstance(statement, ir.Evaluate) else None
    while isinstance(value, ir.Await):
        value = value.value
    match value:
        case ir.Call(func=ir.Attr(base=base, name=method)):
            return method in methods and dotted(base) == name
        case _:
            return False


def _guarded_function(reading: Reading, call: ir.Call, frame: Frame) -> bool:
    """`torch.no_grad()(function)` or `torch.no_grad(function)`: a decorator by another spelling."""
    makers = reading.resolver.senses(call.func, frame.scope)
    guards = [sense for sense in makers if isinstance(sense, Made)]
    function = _function_given(reading, call, frame)
    if function is not None:
        guards += [
            Made(sense.name, effect, call.at)
            for sense in makers
            if isinstance(sense, Path)
            and (effect := reading.resolver.effect(sense)) in ("off", "on", "inference")
        ]
    reached = _NOTHING
    if function is not None and not function.is_async:
        # A lambda ends here; a function may end above the place where it is guarded.
        reached = Reach(function.body, function.at if function.name == "<lambda>" else None)
    for made in guards:
        reading.note(frame, made, "decorator", call.at, reached)
    return bool(guards)


def _function_given(reading: Reading, call: ir.Call, frame: Frame) -> ir.Function | None:
    """The function of the file that is the first argument."""
    given = reading.resolver.senses(call.args[0].value, frame.scope) if call.args else ()
    return next((sense.function for sense in given if isinstance(sense, Local)), None)


def _make(reading: Reading, call: ir.Call, statement: ir.Stmt, rest: Rest, frame: Frame) -> None:
    """A call that makes a guard, or sets the mode at once."""
    for made in _made_here(reading, call, frame):
        if made.at in reading.entered or _undoes_another(reading, made, frame):
            continue
        if made.effect in SETTING:
            _set(reading, made, rest, frame)
            continue
        how, name = _kept(call, statement)
        reading.loose.append(Loose(made, how, name, frame.name, frame.scope, frame.number, frame.body))


def _made_here(reading: Reading, call: ir.Call, frame: Frame) -> list[Made]:
    senses = reading.resolver.senses(call, frame.scope)
    return [sense for sense in senses if isinstance(sense, Made) and sense.at == call.at]


def _kept(call: ir.Call, statement: ir.Stmt) -> tuple[str, str]:
    match statement:
        case ir.Evaluate(value=ir.Call(at=at)) if at == call.at:
            return "dropped", ""
        case ir.Assign(targets=(ir.Name(id=name),), value=ir.Call(at=at)) if at == call.at:
            return "named", name
        case _:
            return "handed", ""


def _set(reading: Reading, made: Made, rest: Rest, frame: Frame) -> None:
    """`torch.set_grad_enabled(...)` as a call: up to the next one, or to what sets the mode back."""
    nexts: list[Made] = []

    def undoes(statement: ir.Stmt) -> bool:
        value = statement.value if isinstance(statement, ir.Evaluate | ir.Assign) else None
        if not isinstance(value, ir.Call):
            return False
        nexts[:] = [one for one in _made_here(reading, value, frame) if one.effect in SETTING]
        return bool(nexts)

    reached = reach(rest, reading.restores, undoes)
    reading.note(frame, made, "call", made.at, reached)
    if reached.end is not None:
        reading.ending.update((one.at, made) for one in nexts)


def _undoes_another(reading: Reading, made: Made, frame: Frame) -> bool:
    """Whether a call that sets the mode only brings back what an earlier one changed."""
    first = reading.ending.get(made.at)
    undoes = first is not None and _restores(reading, first, made, frame)
    if undoes:
        reading.undoing.add(made.at)
    return undoes


def _restores(reading: Reading, first: Made, second: Made, frame: Frame) -> bool:
    """Whether the second call brings back what was there before the first."""
    before, after = _mode(first), _mode(second)
    if any(isinstance(sense, Saved) for sense in reading.resolver.senses(after, frame.scope)):
        return True
    return isinstance(after, ir.Const) and bool(after.value) and not _is_on(before)


def _mode(made: Made) -> ir.Expr | None:
    return made.call.args[0].value if made.call is not None and made.call.args else None


def _is_on(mode: ir.Expr | None) -> bool:
    return isinstance(mode, ir.Const) and bool(mode.value)


def _never(_: object) -> bool:
    return False


def left_over(reading: Reading) -> None:
    """Note the guards that were made and are entered nowhere in the file."""
    for loose in reading.loose:
        made = loose.made
        if made.at in reading.entered:
            continue
        unread = (
            loose.how == "named" and loose.function is not None and loose.name not in names_read(loose.body)
        )
        # Thrown away, or never looked at again, it ends where it was made; anyone may enter the others.
        end = made.at if loose.how == "dropped" or unread else None
        frame = Frame(loose.frame, loose.function, loose.scope, loose.body)
        reading.note(frame, made, "object", made.at, Reach((), end))
