"""Names from outside the tree: the framework, a little of the standard library, and the unknown."""

from __future__ import annotations

from types import ModuleType

from gradguard.replay.fences import is_open
from gradguard.replay.paddle import own_function, torch_name
from gradguard.replay.session import Session
from gradguard.replay.value import Value, words
from gradguard.replay.wild import Wild, unknown

_ABSENT = object()
_PLACES = words("cuda distributed backends jit amp utils data hub version random multiprocessing onnx mps")
_OPERATIONS = words("torch torch.nn.functional torch.linalg torch.fft torch.special torch.Tensor")
_SAME = words(
    "torch.compile torch.jit.script torch.jit.ignore torch.jit.export torch.jit.unused torch.jit.trace"
)
_TENSOR_CLASSES = (
    "Tensor",
    "FloatTensor",
    "DoubleTensor",
    "LongTensor",
    "IntTensor",
    "HalfTensor",
    "BoolTensor",
)
_GUARDS = {"off": "no_grad", "on": "enable_grad", "inference": "inference_mode"}
_ROOTS = ("paddle", "functorch")
_NUMERIC = words("numpy cupy scipy sklearn pandas random statistics PIL cv2 skimage matplotlib")


class Namespace:
    """A module outside the tree under its dotted path; its names are resolved when they are asked for."""

    def __init__(self, session: Session, path: str) -> None:
        """Name the path."""
        self.session = session
        self.path = path

    def read(self, name: str) -> Value:
        """`self.name`."""
        return outside(self.session, f"{self.path}.{name}")

    def __call__(self, *args: Value, **kwargs: Value) -> Value:
        """Modules are not called; what looked like one is unknown."""
        return unknown(self.session, self.path)(*args, **kwargs)

    def __repr__(self) -> str:
        """Show the path."""
        return f"<{self.path}>"


def outside(session: Session, path: str) -> Value:
    """What a dotted path outside the tree stands for, the same each time."""
    if path not in session.surrogates:
        session.surrogates[path] = _resolved(session, path)
    return session.surrogates[path]


def has_name(session: Session, path: str) -> bool:
    """Whether a star import of the framework binds the name."""
    root = path.partition(".")[0]
    return root in ("torch", *_ROOTS) and _walk(session, torch_name(path)) is not _ABSENT


def _resolved(session: Session, path: str) -> Value:
    from gradguard.replay.standard import standard

    root = path.partition(".")[0]
    if root in ("torch", *_ROOTS):
        return _framework(session, path)
    told = _told_by_tables(session, path)
    if told is not None:
        return told
    found = standard(session, path)
    if found is not None:
        return found
    if root in _NUMERIC:
        return (
            Namespace(session, path) if "." not in path else Wild(session, path.rsplit(".", 1)[-1], "number")
        )
    facts = session.facts
    if facts.has("modules.base", path):
        return Wild(session, "Module")
    if "." not in path:
        return Namespace(session, path)
    return unknown(session, path.rsplit(".", 1)[-1])


def _walk(session: Session, path: str) -> Value:
    """What the backend has under a path of the framework."""
    found: Value = session.backend.torch
    for part in path.split(".")[1:]:
        if part.startswith("_") or not isinstance(found, ModuleType | type):
            return _ABSENT
        try:
            found = getattr(found, part)
        except AttributeError:
            return _ABSENT
    return found


def _framework(session: Session, path: str) -> Value:
    effect, asked = session.facts.guards.get(path), path
    own = own_function(session, path)
    if own is not None:
        return own
    path = f"torch.func{path.removeprefix('functorch')}" if path.startswith("functorch") else torch_name(path)
    last = path.rsplit(".", 1)[-1]
    found = _walk(session, path) if is_open(path) else _ABSENT
    if isinstance(found, ModuleType):
        return Namespace(session, asked)
    if found is not _ABSENT and path not in _SAME:
        return _size_only(session, found) if last == "device" else found
    if effect is not None:
        return _told_by_tables(session, asked)
    if session.facts.has("misspelt.guards", last):
        raise AttributeError(f"module 'torch' has no attribute '{last}'")
    return _missing(session, path, last)


def _told_by_tables(session: Session, path: str) -> Value:
    """What does in torch what the framework tables say of a name; None where they say nothing."""
    facts, torch = session.facts, session.backend.torch
    effect = facts.guards.get(path)
    if effect is not None:
        return getattr(torch, _GUARDS.get(effect, "set_grad_enabled"))
    if facts.has("backward.functions", path):
        return torch.autograd.backward
    if facts.has("backward.gradient", path):
        return torch.autograd.grad
    return torch.nn.Parameter if facts.has("leaves.constructors", path) else None


def _size_only(session: Session, found: Value) -> Value:
    return lambda *args, **kwargs: "cpu"


def _missing(session: Session, path: str, last: str) -> Value:
    """A name of the framework that the backend lacks."""
    from gradguard.replay.mixtures import surrogate

    parent = path.rpartition(".")[0]
    if last.startswith("_"):
        return Namespace(session, path)
    if path in _SAME:
        return lambda *args, **kwargs: args[0] if args else (lambda function: function)
    if last in _TENSOR_CLASSES:
        return lambda *args, **kwargs: _legacy(session, last, args)
    if "optim.lr_scheduler" in path or "swa_utils" in path:
        return Wild(session, last)
    if path.startswith(("torch.optim.", "torch.optimizer.")) and last[:1].isupper():
        return _optimizer(session, last)
    if "distributions" in path and last[:1].isupper():
        return _distribution(session, last)
    if path.startswith("torch.nn.") and last[:1].isupper():
        if "parallel" in last.lower():
            return lambda module, *args, **kwargs: module
        return stand_in(session, last)
    if last == "DataLoader":
        return lambda *args, **kwargs: Wild(session, "loader", "loader")
    if last in ("is_available", "is_initialized", "is_autocast_enabled"):
        return lambda *args, **kwargs: False
    if last.startswith(("set_", "use_")):
        return lambda *args, **kwargs: None
    if last in _PLACES or (last.islower() and parent in ("torch.cuda", "torch.utils", "torch.distributed")):
        return Namespace(session, path)
    if parent in _OPERATIONS and not last[:1].isupper():

        def operation(*args: Value, **kwargs: Value) -> Value:
            return surrogate(session, last, args, kwargs)

        operation.__name__ = last
        operation.__module__ = "torch"
        return operation
    return Wild(session, last)


def _legacy(session: Session, name: str, args: tuple[Value, ...]) -> Value:
    """`torch.FloatTensor(...)`."""
    torch = session.backend.torch
    dtype = (
        torch.int64
        if name in ("LongTensor", "IntTensor")
        else torch.bool
        if name.startswith("Bool")
        else torch.float32
    )
    if len(args) == 1 and not isinstance(args[0], int | Wild):
        return torch.tensor(args[0], dtype=dtype)
    return torch.zeros(*[min(int(one), 8) for one in args], dtype=dtype) if args else torch.zeros(0)


def stand_in(session: Session, name: str) -> Value:
    """A class that stands for a module of the framework, with parameters where the framework's has some."""
    key = f"<module {name}>"
    if key in session.surrogates:
        return session.surrogates[key]
    torch = session.backend.torch
    free = session.facts.has("modules.parameter_free", name)

    def initialise(self: Value, *args: Value, **kwargs: Value) -> None:
        torch.nn.Module.__init__(self)
        if not free:
            self.weight = torch.nn.Parameter(torch.full((2, 2), 0.5))
            self.bias = torch.nn.Parameter(torch.full((2,), 0.5))

    def forward(self: Value, *args: Value, **kwargs: Value) -> Value:
        from gradguard.replay.mixtures import module_surrogate

        return module_surrogate(session, self, args, kwargs)

    made = type(
        name, (torch.nn.Module,), {"__init__": initialise, "forward": forward, "__module__": "torch.nn"}
    )
    session.surrogates[key] = made
    return made


def _optimizer(session: Session, name: str) -> Value:
    """An optimizer that the backend lacks: plain descent in its place."""
    sgd = session.backend.torch.optim.SGD

    def initialise(self: Value, params: Value = (), *args: Value, **kwargs: Value) -> None:
        params = kwargs.get("parameters", kwargs.get("params", params))
        if isinstance(params, Wild):
            params = params.parameters()
        if isinstance(params, int | float):
            params = next((one for one in args if not isinstance(one, int | float | str)), ())
        sgd.__init__(self, params, lr=0.1)

    return type(name, (sgd,), {"__init__": initialise, "__module__": "torch.optim"})


def _distribution(session: Session, name: str) -> Value:
    """A probability distribution: samples carry no graph, everything else does."""

    def initialise(self: Value, *args: Value, **kwargs: Value) -> None:
        from gradguard.replay.mixtures import tensors_in

        self.operands = list(tensors_in(session, [*args, *kwargs.values()]))

    def computed(self: Value, *args: Value, **kwargs: Value) -> Value:
        from gradguard.replay.mixtures import mixture, tensors_in

        return mixture(session, [*self.operands, *tensors_in(session, args)])

    def sample(self: Value, *args: Value, **kwargs: Value) -> Value:
        return computed(self).detach()

    names = dict.fromkeys(("log_prob", "entropy", "rsample", "cdf", "icdf", "perplexity"), computed)
    values = dict.fromkeys(
        ("probs", "logits", "mean", "mode", "stddev", "variance", "loc", "scale"), property(computed)
    )
    more: dict[str, Value] = {
        "__init__": initialise,
        "sample": sample,
        "__module__": "torch.distributions",
        **names,
        **values,
    }
    return type(name, (), more)
