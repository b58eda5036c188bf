"""Reading a file for guards, statement by statement."""

from __future__ import annotations

from dataclasses import replace

from gradguard.inventory.givers import guards_of, is_manager
from gradguard.inventory.reading import NO_FRAME, Frame, Reading
from gradguard.inventory.senses import Decorating, Local, Made, Path, Scope, Senses, Space, Weight
from gradguard.inventory.spread import Reach, Rest
from gradguard.inventory.uses import left_over, note_uses
from gradguard.ir import nodes as ir
from gradguard.ir.walk import walk

_PARAMETERS = ("parameters", "named_parameters", "param_groups", "params")


def read_module(reading: Reading, body: ir.Body) -> None:
    """Read the statements of a module, and every function in it."""
    read_block(reading, body, None, reading.open_frame(None, Scope(), body))
    while reading.waiting:
        read_function(reading, reading.waiting.pop(0))
    left_over(reading)


def read_function(reading: Reading, local: Local) -> Frame | None:
    """Read a function's body, once; None while it is being read."""
    function = local.function
    if function.at in reading.frames:
        return reading.frames[function.at]
    reading.frames[function.at] = None
    name = f"{local.prefix}{function.name}"
    frame = reading.open_frame(name, Scope(local.scope), function.body, f"{name}.")
    for number, param in enumerate(function.params):
        senses = reading.resolver.senses(param.default, local.scope)
        frame.bind(param.name, (local.owner,) if number == 0 and local.owner is not None else senses)
    rest = None
    for one in local.decorators:
        body = () if one.idle else function.body
        reading.note(frame, one.made, "decorator", one.at, Reach(body, function.at), decorated=True)
        if not one.idle:
            reading.holders.add(function.at)
            rest = Rest((), 0, None, ir.FunctionDef(function, function.at))
    read_block(reading, function.body, rest, frame)
    reading.frames[function.at] = frame
    return frame


def _decorating(reading: Reading, decorators: tuple[ir.Expr, ...], scope: Scope) -> list[Decorating]:
    """The guards among decorators, called or only named."""
    found = []
    for decorator in decorators:
        named = [
            Made(sense.name, effect, decorator.at)
            for sense in reading.resolver.senses(decorator, scope)
            if isinstance(sense, Path) and (effect := reading.resolver.effect(sense)) is not None
        ]
        found += [Decorating(made, decorator.at) for made in (*named, *guards_of(reading, decorator, scope))]
    reading.entered.update(one.made.at for one in found)
    return found


def _decorated_function(reading: Reading, function: ir.Function, scope: Scope) -> tuple[Decorating, ...]:
    """The guards among the decorators of a function.

    Idle is a guard on a coroutine function, and one around what `contextmanager` makes of a function.
    """
    inner = [one.at for one in function.decorators if is_manager(one, scope, reading.resolver)]
    return tuple(
        replace(one, idle=function.is_async or any(at > one.at for at in inner))
        for one in _decorating(reading, function.decorators, scope)
    )


def read_block(reading: Reading, body: ir.Body, outer: Rest | None, frame: Frame) -> None:
    """Read statements in order; `outer` is what runs behind them."""
    for number, statement in enumerate(body):
        _read(reading, statement, Rest(body, number + 1, outer), frame)


def _read(reading: Reading, statement: ir.Stmt, rest: Rest, frame: Frame) -> None:
    match statement:
        case ir.Import():
            _import(statement, frame)
        case ir.Declare(kind=kind, names=names):
            for name in names:
                frame.scope.declare(kind, name)
        case ir.FunctionDef(function=function):
            decorators = _decorated_function(reading, function, frame.scope)
            for expr in (
                *function.decorators,
                *(param.default for param in function.params if param.default),
            ):
                note_uses(reading, expr, statement, rest, frame)
            local = Local(function, frame.scope, None, frame.prefix, decorators)
            frame.bind(function.name, (local,))
            reading.waiting.append(local)
        case ir.ClassDef():
            _read_class(reading, statement, rest, frame)
        case ir.With():
            _read_with(reading, statement, rest, frame)
        case ir.If() | ir.While() | ir.For() | ir.Try() | ir.Match():
            _read_branches(reading, statement, rest, frame)
        case ir.Assign(targets=targets, value=value):
            note_uses(reading, value, statement, rest, frame)
            senses = reading.resolver.senses(value, frame.scope)
            for target in targets:
                bind_target(reading, target, senses, frame)
        case _:
            for expr in _expressions(statement):
                note_uses(reading, expr, statement, rest, frame)


def _expressions(statement: ir.Stmt) -> tuple[ir.Expr, ...]:
    match statement:
        case ir.Evaluate(value=value) | ir.Update(value=value):
            return (value,)
        case ir.Return(value=value) | ir.Raise(value=value) | ir.Let(value=value):
            return () if value is None else (value,)
        case ir.Assert(test=test):
            return (test,)
        case _:
            return ()


def _import(statement: ir.Import, frame: Frame) -> None:
    module = "." * statement.level + statement.module
    match statement.name:
        case None if statement.bound == module.partition(".")[0]:
            frame.bind(statement.bound, (Path(statement.bound),))
        case None:
            frame.bind(statement.bound, (Path(module),))
        case "*":
            frame.scope.stars.append(module)
        case name:
            frame.bind(statement.bound, (Path(f"{module}.{name}"),))


def _read_class(reading: Reading, statement: ir.ClassDef, rest: Rest, frame: Frame) -> None:
    _decorated_class(reading, statement, frame)
    for expr in (*statement.decorators, *(arg.value for arg in statement.bases)):
        note_uses(reading, expr, statement, rest, frame)
    bases = tuple(
        sense for arg in statement.bases for sense in reading.resolver.senses(arg.value, frame.scope)
    )
    scope = Scope(frame.scope)
    space = Space(
        statement.name,
        scope.names,
        tuple(base for base in bases if isinstance(base, Space)),
        tuple(base for base in bases if isinstance(base, Path) and reading.resolver.effect(base)),
    )
    frame.bind(statement.name, (space,))
    name = f"{frame.prefix}{statement.name}"
    inner = Frame(frame.number, name, scope, statement.body, f"{name}.")
    already = len(reading.waiting)
    read_block(reading, statement.body, rest, inner)
    methods = [_method(local, space, scope, frame.scope) for local in reading.waiting[already:]]
    # What `__init__` keeps on the instance is known before the other methods are read.
    reading.waiting[already:] = sorted(methods, key=lambda method: method.function.name != "__init__")
    for key, senses in scope.names.items():
        scope.names[key] = tuple(
            _method(one, space, scope, frame.scope) if isinstance(one, Local) else one for one in senses
        )


def _method(local: Local, space: Space, scope: Scope, around: Scope) -> Local:
    """A function of a class body as its method: it does not see the names of the class."""
    if local.scope is not scope:
        return local
    is_static = any(
        isinstance(decorator, ir.Name) and decorator.id == "staticmethod"
        for decorator in local.function.decorators
    )
    return replace(local, scope=around, owner=None if is_static else space)


def _decorated_class(reading: Reading, statement: ir.ClassDef, frame: Frame) -> None:
    """A guard on a class lies around its `__init__` and nothing else."""
    making = next(
        (
            one.function
            for one in statement.body
            if isinstance(one, ir.FunctionDef) and one.function.name == "__init__"
        ),
        None,
    )
    reached = Reach(making.body, making.at) if making else Reach((), statement.at)
    around = Frame(NO_FRAME, f"{frame.prefix}{statement.name}", frame.scope, statement.body)
    for one in _decorating(reading, statement.decorators, frame.scope):
        reading.note(around, one.made, "decorator", one.at, reached, decorated=True)


def _read_with(reading: Reading, statement: ir.With, rest: Rest, frame: Frame) -> None:
    for number, entry in enumerate(statement.entries):
        later = tuple(statement.entries[number + 1 :])
        within = {node.at for node in walk(entry.context, into_functions=False) if isinstance(node, ir.Call)}
        for made in guards_of(reading, entry.context, frame.scope):
            form = "helper" if made.helper else "with" if made.at in within else "object"
            reading.holders.add(statement.at)
            reading.note(frame, made, form, entry.context.at, Reach((*later, *statement.body), statement.at))
        note_uses(reading, entry.context, statement, rest, frame)
        if entry.target is not None:
            bind_target(reading, entry.target, (), frame)
    read_block(reading, statement.body, Rest((), 0, rest, statement), frame)


def _read_branches(
    reading: Reading, statement: ir.If | ir.While | ir.For | ir.Try | ir.Match, rest: Rest, frame: Frame
) -> None:
    frame.branches += 1
    try:
        match statement:
            case ir.If():
                _read_if(reading, statement, rest, frame)
            case ir.While(test=test, body=body, orelse=orelse):
                note_uses(reading, test, statement, rest, frame)
                read_block(reading, body, Rest(orelse, 0, rest), frame)
                read_block(reading, orelse, rest, frame)
            case ir.For(target=target, iter=iterable, body=body, orelse=orelse):
                note_uses(reading, iterable, statement, rest, frame)
                bind_target(reading, target, (Weight(),) if _over_parameters(iterable) else (), frame)
                read_block(reading, body, Rest(orelse, 0, rest), frame)
                read_block(reading, orelse, rest, frame)
            case ir.Try(body=body, handlers=handlers, orelse=orelse, final=final):
                last = Rest(final, 0, rest)
                read_block(reading, body, Rest(orelse, 0, last), frame)
                for handler in handlers:
                    read_block(reading, handler.body, last, frame)
                read_block(reading, orelse, last, frame)
                read_block(reading, final, rest, frame)
            case ir.Match(subject=subject, cases=cases):
                note_uses(reading, subject, statement, rest, frame)
                for case in cases:
                    read_block(reading, case.body, rest, frame)
    finally:
        frame.branches -= 1


def _read_if(reading: Reading, statement: ir.If, rest: Rest, frame: Frame) -> None:
    """An `elif` is an `if` alone in the other branch; a long row of them must not recurse."""
    while True:
        note_uses(reading, statement.test, statement, rest, frame)
        read_block(reading, statement.then, rest, frame)
        match statement.other:
            case (ir.If() as following,):
                statement = following
            case other:
                read_block(reading, other, rest, frame)
                return


def _over_parameters(iterable: ir.Expr) -> bool:
    """Whether a loop runs over parameters: `model.parameters()`, `group["params"]`."""
    return any(
        (isinstance(node, ir.Attr) and node.name in _PARAMETERS)
        or (
            isinstance(node, ir.Item) and isinstance(node.index, ir.Const) and node.index.value in _PARAMETERS
        )
        for node in walk((iterable,), into_functions=False)
    )


def bind_target(reading: Reading, target: ir.Expr, senses: Senses, frame: Frame) -> None:
    """Bind what stands on the left of an assignment."""
    match target:
        case ir.Name(id=name):
            frame.bind(name, senses)
        case ir.Sequence(items=items):
            for item in items:
                bind_target(reading, item, senses, frame)
        case ir.Star(value=value):
            bind_target(reading, value, senses, frame)
        case ir.Attr(base=ir.Name() as base, name=name) if senses:
            for owner in reading.resolver.senses(base, frame.scope):
                if isinstance(owner, Space):
                    owner.names[name] = tuple(dict.fromkeys((*owner.names.get(name, ()), *senses)))
