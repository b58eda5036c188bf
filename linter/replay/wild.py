"""Values that nobody knows: they answer to whatever is asked of them."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from types import TracebackType

from gradguard.replay.session import Session
from gradguard.replay.value import Value, words

# What only a tensor is asked for, beside what the framework's table calls cuts, views and reductions.
_TENSOR_ONLY = words(
    "dim numel ndim dtype device requires_grad grad grad_fn is_leaf is_cuda unsqueeze_ zero_ fill_ add_ "
    "sub_ mul_ div_ copy_ clamp clamp_ pow exp log sqrt abs tanh sigmoid relu softmax log_softmax matmul "
    "mm bmm retain_grad clone register_hook std var cumsum repeat masked_fill gather index_select type_as "
    "is_inference detach_ shape size backward sin cos square topk sort max min add sub mul div"
)
_SAME = words(
    "to cuda cpu half float double bfloat16 train eval type contiguous share_memory requires_grad_ "
    "prepare compile zero_grad"
)
_PARAMETERS = words("parameters named_parameters buffers modules children named_modules named_children")
_CONTAINERS = words("items values keys")
_ENTRIES = words("get pop popleft popitem setdefault __getitem__ next copy")
_NUMBERS = words("dim numel ndim size shape dtype device is_cuda requires_grad is_leaf is_inference")


class Wild:
    """Something unknown.

    `role` is data (untracked input), loader (gives data), criterion (no parameters), model, number, truth
    or "".
    `source` is the tensor that it is, once it was used as one or where it was computed from tensors.
    `entries` holds attributes under their names and items under their keys.
    """

    __slots__ = (
        "__weakref__",
        "entries",
        "hint",
        "hooks",
        "members",
        "role",
        "session",
        "source",
        "truth",
        "weights",
    )

    def __init__(self, session: Session, hint: str = "", role: str = "", source: Value = None) -> None:
        """Nothing is decided yet."""
        self.session = session
        self.hint = hint
        self.role = role
        self.source = source
        self.entries: dict[Value, Value] = {}
        self.members: list[Wild] | None = None
        self.truth: bool | None = None
        self.weights: list[Value] | None = None
        self.hooks: list[Value] = []
        session.invent()

    # -- what it may be -----------------------------------------------------------------------

    def tensor(self) -> Value:
        """The tensor that this is, made at the first call: 2 x 2, tracked unless it is data."""
        if self.source is None:
            backend = self.session.backend
            with backend.ordinary():
                made = backend.torch.full((2, 2), 0.5)
                if self.role not in ("data", "number") and self.session.policy.tracked:
                    made = made.requires_grad_().clone()
                self.source = made
                self.session.made_up[id(made)] = made
        return self.source

    def parameters(self) -> list[Value]:
        """The parameters that an unknown module has: two of them."""
        if self.weights is None:
            torch = self.session.backend.torch
            with self.session.backend.ordinary():
                self.weights = [torch.nn.Parameter(torch.full((2, 2), 0.5)) for _ in range(2)]
            for number, weight in enumerate(self.weights):
                self.session.name(weight, f"{self.hint or 'module'}.{('weight', 'bias')[number]}")
        return self.weights

    def child(self, key: Value, hint: str = "") -> Value:
        """The attribute or item under a key, the same one each time."""
        if key not in self.entries:
            self.entries[key] = self._made(hint or (key if isinstance(key, str) else self.hint))
        return self.entries[key]

    def _made(self, hint: str) -> Wild:
        if self.role in ("data", "loader"):
            made = Wild(self.session, hint, "data")
        elif self.role == "number":
            made = Wild(self.session, hint, "number")
        else:
            made = unknown(self.session, hint)
        if self.source is not None:
            with self.session.backend.in_mode_of(self.source):
                made.source = self.source.clone()
        return made

    def elements(self, count: int = 2) -> list[Value]:
        """What iterating gives: `count` elements, the same ones each time."""
        if (
            self.source is not None
            and self.members is None
            and self.source.dim()
            and count == len(self.source)
        ):
            return list(self.source)
        if self.members is None:
            self.members = []
        while len(self.members) < count:
            self.members.append(self.child(("element", len(self.members)), self.hint))
        return self.members[:count]

    # -- what Python asks ---------------------------------------------------------------------

    def read(self, name: str) -> Value:
        """`self.name`."""
        if name in self.entries:
            return self.entries[name]
        if self.source is not None and hasattr(type(self.source), name):
            return getattr(self.source, name)
        if name in _SAME:
            return lambda *args, **kwargs: args[0] if name == "prepare" and len(args) == 1 else self
        if name in _PARAMETERS:
            return lambda *args, **kwargs: self._listed(name)
        if name in _CONTAINERS:
            return lambda *args, **kwargs: self._contents(name)
        if name in _ENTRIES:
            return lambda *args, **kwargs: self.child(
                args[0] if args and isinstance(args[0], str | int) else name
            )
        if name in ("register_forward_hook", "register_forward_pre_hook"):
            return self._hooked
        if is_tensor_name(self.session, name) and not (name in _NUMBERS and self.role == ""):
            return getattr(self.tensor(), name)
        return self.child(name, name)

    def _listed(self, name: str) -> list[Value]:
        if name.startswith("named"):
            return [(f"w{i}", one) for i, one in enumerate(self._listed(name.removeprefix("named_")))]
        return self.parameters() if name in ("parameters", "buffers") else [self]

    def _contents(self, name: str) -> list[Value]:
        values = self.elements()
        if name == "items":
            return [(self.child(("key", i), "key"), value) for i, value in enumerate(values)]
        return values

    def _hooked(self, hook: Value, *args: Value, **kwargs: Value) -> Wild:
        self.hooks.append(hook)
        return Wild(self.session, "handle")

    def __getattr__(self, name: str) -> Value:
        """For code that is not interpreted."""
        if name.startswith("__"):
            raise AttributeError(name)
        return self.read(name)

    def __iter__(self) -> Iterator[Value]:
        """Two elements, the same ones each time."""
        return iter(self.elements())

    def __len__(self) -> int:
        """Two."""
        return 2

    def __getitem__(self, key: Value) -> Value:
        """The item under a key, the same one each time."""
        if isinstance(key, slice):
            return self
        try:
            hash(key)
        except TypeError:
            key = "item"
        return self.child(
            ("item", key) if not isinstance(key, Wild) else "item", key if isinstance(key, str) else ""
        )

    def __setitem__(self, key: Value, value: Value) -> None:
        """Keep the item."""
        try:
            self.entries["item" if isinstance(key, Wild | slice) else ("item", key)] = value
        except TypeError:
            self.entries["item"] = value

    def __delitem__(self, key: Value) -> None:
        """Keep everything."""
        return None

    def __contains__(self, key: Value) -> bool:
        """Everything is in it."""
        return True

    def __index__(self) -> int:
        """Two."""
        return 2

    def __int__(self) -> int:
        """Two."""
        return 2

    def __float__(self) -> float:
        """A half."""
        return 0.5

    def __bool__(self) -> bool:
        """What was decided once; the policy's answer before."""
        if self.truth is None:
            self.truth = self.session.policy.truth
            self.session.trace.chose = True
        return self.truth

    def __enter__(self) -> Value:
        """Enter as a context manager."""
        return self.child("entered", self.hint)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave; errors pass."""
        return None

    def __await__(self) -> Generator[None, None, Value]:
        """Give control away once."""
        yield None
        return self.child("awaited", self.hint)

    def __hash__(self) -> int:
        """By identity."""
        return id(self)

    def __repr__(self) -> str:
        """Its name."""
        return f"<{self.hint or 'unknown'}>"

    def __call__(self, *args: Value, **kwargs: Value) -> Value:
        """A mixture of what goes in."""
        from gradguard.replay.mixtures import call_wild

        return call_wild(self, args, kwargs)


def unknown(session: Session, hint: str) -> Wild:
    """Something unknown that goes by a name; what the framework's table assumes of the name holds."""
    return Wild(session, hint, role_of(session, hint))


def role_of(session: Session, hint: str) -> str:
    """What is assumed of a name."""
    name, facts = hint.lower().lstrip("_"), session.facts
    if facts.has("assume.data", name):
        return "data"
    if facts.has("assume.loaders", name) or name.endswith(("loader", "dataset")):
        return "loader"
    if facts.has("assume.criteria", name) or name.endswith(("_criterion", "_loss_fn", "loss_fct")):
        return "criterion"
    return "model" if facts.has("assume.models", name) else ""


def is_tensor_name(session: Session, name: str) -> bool:
    """Whether only a tensor is asked for this attribute."""
    facts = session.facts
    if name in _TENSOR_ONLY or facts.has("tensor.views", name) or facts.has("tensor.reductions", name):
        return True
    return facts.has("cuts.methods", name) or facts.has("tensor.view_attributes", name)
