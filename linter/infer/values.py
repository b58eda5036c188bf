"""The abstract values."""

from __future__ import annotations

from dataclasses import field
from enum import Enum
from typing import Any

from gradguard.frozen import dataclass
from gradguard.infer.modes import GuardSite, When
from gradguard.infer.sites import Site
from gradguard.ir.nodes import Function


class Track(Enum):
    """Whether a tensor can receive or pass on a gradient."""

    TRACKED = "tracked"
    LEAF = "leaf"
    UNTRACKED = "untracked"
    FORCED = "forced"
    DATA = "data"
    VIEW = "view"
    CONDITIONAL = "conditional"


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a tensor is untracked.

    `kind` is guard (made while recording was off), cut (its graph was dropped by `verb`) or data (built from
    untracked operands only). `site` is where that happened, `depth` the call depth of that place, `calls` the
    call sites that lead there. `source` is the origin of the value that was cut.
    """

    kind: str
    site: Site
    verb: str = ""
    guard: GuardSite | None = None
    depth: int = 0
    calls: tuple[Site, ...] = ()
    source: int = 0
    integer: bool = False
    outside: Site | None = None
    function: int = 0


@dataclass(frozen=True, slots=True)
class Trail:
    """The chain of steps that a value has come through, newest first."""

    site: Site
    text: str
    before: Trail | None = None
    length: int = 1


@dataclass(slots=True, eq=False)
class Lineage:
    """What a value was computed from, whether or not a gradient can pass: a graph that is read only when asked.

    `parents` have the sign with which they go into a `linear` step. A value that was not computed has none: its
    `root` is the module or leaf (`trained`), or the value itself. `cut`: the graph was dropped here.
    """

    name: str = ""
    parents: tuple[tuple[Lineage, int], ...] = ()
    linear: bool = False
    cut: bool = False
    root: int = 0
    trained: bool = False
    opaque: bool = False


@dataclass(frozen=True, slots=True)
class Term:
    """A constant summand of a tracked sum: why it is constant, where it is added, and at what call depth."""

    cause: Cause
    trail: Trail | None
    assumed: tuple[str, ...]
    site: Site
    depth: int = 0
    lineage: Lineage | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Rebound:
    """A parameter's name that was bound to a new, untracked value at `site`."""

    site: Site
    name: str


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor, or a number taken from one (`number`).

    `made` says that the value was computed here rather than handed in. `would` says that it would have been
    tracked had recording been on. `lossy`: it is a reduction or a loss. `parts` are the origins of the tracked
    summands of a sum. `when` (of CONDITIONAL) is the fact under which it is tracked. `bound`: it was given a
    name. `views` are the guarded views of nameless values that went into it.
    """

    track: Track
    origin: int
    cause: Cause | None = None
    trail: Trail | None = None
    assumed: tuple[str, ...] = ()
    number: bool = False
    inference: Site | None = None
    would: bool = False
    made: bool = False
    lossy: bool = False
    terms: tuple[Term, ...] = ()
    parts: frozenset[int] = frozenset()
    when: When | None = None
    rebound: tuple[Rebound, ...] = ()
    converted: Site | None = None
    forced: tuple[Site, str] | None = None
    depth: int = 0
    integer: bool = False
    opaque: bool = False
    size: int | None = None
    bound: bool = False
    views: tuple[Tensor, ...] = ()
    lineage: Lineage | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Unknown:
    """Anything. `hint` is the name it goes by, `role` what is assumed of it (loader, model, parameters ...)."""

    origin: int
    hint: str = ""
    role: str = ""
    made: Site | None = None


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant."""

    value: Any


@dataclass(frozen=True, slots=True)
class Test:
    """A boolean that is true exactly when the fact `key` is `truth`."""

    key: str
    truth: bool = True


@dataclass(frozen=True, slots=True)
class Both:
    """A conjunction (or, when `either`, a disjunction) of booleans."""

    tests: tuple[Any, ...]
    either: bool = False


@dataclass(frozen=True, slots=True)
class Known:
    """Something named by a dotted path outside the linted tree, such as torch.no_grad."""

    path: str


@dataclass(frozen=True, slots=True)
class Guard:
    """A guard object. `effect` is off, on, inference or none; `when` makes it conditional; `entered` by hand."""

    effect: str
    site: GuardSite
    when: When | None = None
    origin: int = 0


@dataclass(frozen=True, slots=True)
class Closure:
    """A function with the scopes it closes over. `wraps` are guards put around each call, outermost first."""

    function: Function
    module: str
    scopes: tuple[int, ...]
    owner: Any = None
    wraps: tuple[Guard, ...] = ()
    kind: str = "function"
    manager: bool = False
    decorated: bool = False


@dataclass(frozen=True, slots=True)
class Bound:
    """A method of a known object: a Closure with its self, or a named method of a built-in or outside object."""

    owner: Any
    method: Any


@dataclass(frozen=True, slots=True)
class Klass:
    """A class defined in the tree; its members are in the heap under `id`."""

    id: int
    name: str
    module: str
    bases: tuple[Any, ...]
    site: Site


@dataclass(frozen=True, slots=True)
class Instance:
    """An object of a `Klass` or of an outside class (`Known`); its fields are in the heap under `id`."""

    id: int
    klass: Any
    args: tuple[Any, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Tuple:
    """A tuple of known length."""

    items: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class List:
    """A list, set or deque: heap field "#items" is a tuple of values, "#rest" a value that stands for unknown ones."""

    id: int


@dataclass(frozen=True, slots=True)
class Dict:
    """A dict: heap fields are ("key", constant) -> value and "#rest" for unknown keys."""

    id: int


@dataclass(frozen=True, slots=True)
class Parameters:
    """`owner.parameters()`: iterates over leaves that belong to `owner`."""

    owner: Any
    named: bool = False


@dataclass(frozen=True, slots=True)
class Partial:
    """`functools.partial(func, ...)`."""

    func: Any
    args: tuple[Any, ...]
    keywords: tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Lazy:
    """Something evaluated when consumed: a generator object, a generator expression, map, filter.

    `expression` with `scopes`, or `closure` with arguments; `guard` is the guard it was made under.
    """

    kind: str
    site: Site
    payload: Any
    guard: GuardSite | None = None
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Module:
    """A module of the linted tree."""

    name: str


@dataclass(frozen=True, slots=True)
class Imported:
    """A name imported from a module of the tree, not looked up yet."""

    key: str
    name: str


@dataclass(frozen=True, slots=True)
class Super:
    """`super()` in a method of `klass`, called on `owner`."""

    klass: Klass
    owner: Any


@dataclass(frozen=True, slots=True)
class Alternatives:
    """`then` where the fact `key` holds, `other` where it does not."""

    key: str
    then: Any
    other: Any


Value = (
    Tensor
    | Unknown
    | Literal
    | Test
    | Both
    | Known
    | Guard
    | Closure
    | Bound
    | Klass
    | Instance
    | Tuple
    | List
    | Dict
    | Parameters
    | Partial
    | Lazy
    | Module
    | Imported
    | Super
    | Alternatives
)

NONE = Literal(None)
