"""The gradient-flow IR: a small tree that every front end lowers to.

Nodes are frozen, hashable and picklable. `at` is a handle, not a position: the number of the node within
its module, from which `gradguard.lower` finds the row and column when a finding is reported. A handle is
`chunk * CHUNK + n`: the n-th node that the front end made while lowering the chunk-th top-level piece.
"""

from __future__ import annotations

from gradguard.frozen import dataclass

CHUNK = 1_000_000
NOWHERE = -1


@dataclass(frozen=True, slots=True)
class Name:
    """A name."""

    id: str
    at: int


@dataclass(frozen=True, slots=True)
class Const:
    """A literal. Numbers that are no int, float or complex and every ellipsis are `Opaque`."""

    value: bool | int | float | complex | str | bytes | None
    at: int


@dataclass(frozen=True, slots=True)
class Attr:
    """`base.name`."""

    base: Expr
    name: str
    at: int


@dataclass(frozen=True, slots=True)
class Item:
    """A subscript. `x[a, b]` has a tuple `Sequence` as index."""

    base: Expr
    index: Expr
    at: int


@dataclass(frozen=True, slots=True)
class Slice:
    """`start:stop:step` in a subscript."""

    parts: tuple[Expr, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Arg:
    """One argument of a call. `star` is "", "*" or "**"."""

    value: Expr
    name: str | None = None
    star: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """A call."""

    func: Expr
    args: tuple[Arg, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Op:
    """Arithmetic on one or two operands: `+ - * / // % ** @ & | ^ << >>`, unary `neg pos invert`."""

    op: str
    operands: tuple[Expr, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Compare:
    """`left op right`: `== != < <= > >= is is-not in not-in`. A chain is an `and` of pairs."""

    op: str
    left: Expr
    right: Expr
    at: int


@dataclass(frozen=True, slots=True)
class Logic:
    """`and` / `or` over two or more operands, `not` over one."""

    op: str
    operands: tuple[Expr, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Choice:
    """`then if test else other`."""

    test: Expr
    then: Expr
    other: Expr
    at: int


@dataclass(frozen=True, slots=True)
class Star:
    """`*value` inside a sequence or an assignment target."""

    value: Expr
    at: int


@dataclass(frozen=True, slots=True)
class Sequence:
    """A tuple, list or set display; as an assignment target, an unpacking."""

    kind: str
    items: tuple[Expr, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Mapping:
    """A dict display; a None key stands for `**value`."""

    items: tuple[tuple[Expr | None, Expr], ...]
    at: int


@dataclass(frozen=True, slots=True)
class Clause:
    """`for target in iter if conditions` of a comprehension."""

    target: Expr
    iter: Expr
    conditions: tuple[Expr, ...]
    is_async: bool = False


@dataclass(frozen=True, slots=True)
class Comprehension:
    """`kind` is list, set, dict or generator; a dict's element is a tuple `Sequence` (key, value)."""

    kind: str
    element: Expr
    clauses: tuple[Clause, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Lambda:
    """A function without a name."""

    function: Function
    at: int


@dataclass(frozen=True, slots=True)
class Walrus:
    """`target := value`."""

    target: str
    value: Expr
    at: int


@dataclass(frozen=True, slots=True)
class Await:
    """`await value`."""

    value: Expr
    at: int


@dataclass(frozen=True, slots=True)
class Yield:
    """`yield value`, or `yield from value` when `delegates`."""

    value: Expr | None
    delegates: bool
    at: int


@dataclass(frozen=True, slots=True)
class Opaque:
    """An expression whose result nobody needs to know (f-strings, ...); its operands are evaluated."""

    operands: tuple[Expr, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Scope:
    """A block that is an expression (Rust): locals bound in it are dropped at its end; `label` is what a break
    may leave it by."""

    body: Body
    value: Expr | None
    at: int
    label: str = ""


@dataclass(frozen=True, slots=True)
class Loop:
    """Rust's `loop` where a value stands: it is what a break gives."""

    body: Body
    label: str
    at: int


@dataclass(frozen=True, slots=True)
class Propagate:
    """Rust's `value?`: the inside of an Ok or Some, or an early return."""

    value: Expr
    at: int


@dataclass(frozen=True, slots=True)
class Branches:
    """A `match` that is an expression (Rust)."""

    subject: Expr
    cases: tuple[Case, ...]
    at: int


Expr = (
    Name
    | Const
    | Attr
    | Item
    | Slice
    | Call
    | Op
    | Compare
    | Logic
    | Choice
    | Star
    | Sequence
    | Mapping
    | Comprehension
    | Lambda
    | Walrus
    | Await
    | Yield
    | Opaque
    | Scope
    | Loop
    | Propagate
    | Branches
)


@dataclass(frozen=True, slots=True)
class Param:
    """`kind` is "positional", "keyword", "*" or "**"; `annotation` as written."""

    name: str
    default: Expr | None = None
    annotation: Expr | None = None
    kind: str = "positional"


@dataclass(frozen=True, slots=True)
class Function:
    """A function, method or lambda. `is_generator`: it holds a yield of its own."""

    name: str
    params: tuple[Param, ...]
    body: Body
    decorators: tuple[Expr, ...]
    is_async: bool
    is_generator: bool
    at: int
    returns: Expr | None = None

    @property
    def text(self) -> str | None:
        """The text it was made from, where that is known apart from the rest of its file."""
        return None


@dataclass(frozen=True, slots=True)
class Assign:
    """`a = b = value` has two targets. A target is a Name, Attr, Item, Star or Sequence."""

    targets: tuple[Expr, ...]
    value: Expr
    at: int


@dataclass(frozen=True, slots=True)
class Let:
    """Rust's `let`: a new binding that lives until the end of its block; "_" binds nothing."""

    target: Expr
    value: Expr | None
    orelse: Body
    at: int


@dataclass(frozen=True, slots=True)
class Update:
    """`target op= value`."""

    target: Expr
    op: str
    value: Expr
    at: int


@dataclass(frozen=True, slots=True)
class Evaluate:
    """An expression as a statement."""

    value: Expr
    at: int


@dataclass(frozen=True, slots=True)
class If:
    """`if` with its `else`; an `elif` is an If in `other`."""

    test: Expr
    then: Body
    other: Body
    at: int


@dataclass(frozen=True, slots=True)
class While:
    """`while` with its `else`; a loop of Rust may have a label."""

    test: Expr
    body: Body
    orelse: Body
    at: int
    label: str = ""


@dataclass(frozen=True, slots=True)
class For:
    """`for` with its `else`."""

    target: Expr
    iter: Expr
    body: Body
    orelse: Body
    is_async: bool
    at: int
    label: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One item of a with statement."""

    context: Expr
    target: Expr | None
    at: int


@dataclass(frozen=True, slots=True)
class With:
    """A with statement."""

    entries: tuple[Entry, ...]
    body: Body
    is_async: bool
    at: int


@dataclass(frozen=True, slots=True)
class Handler:
    """One `except` of a try statement."""

    type: Expr | None
    name: str | None
    body: Body
    at: int


@dataclass(frozen=True, slots=True)
class Try:
    """A try statement."""

    body: Body
    handlers: tuple[Handler, ...]
    orelse: Body
    final: Body
    at: int


@dataclass(frozen=True, slots=True)
class Case:
    """One arm. `test` is a value to compare with, None when the pattern cannot be told; `captures` are bound."""

    test: Expr | None
    captures: tuple[str, ...]
    guard: Expr | None
    body: Body
    catches_all: bool
    at: int


@dataclass(frozen=True, slots=True)
class Match:
    """A match statement."""

    subject: Expr
    cases: tuple[Case, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Return:
    """`return value`."""

    value: Expr | None
    at: int


@dataclass(frozen=True, slots=True)
class Raise:
    """`raise value`."""

    value: Expr | None
    at: int


@dataclass(frozen=True, slots=True)
class Break:
    """`break`, in Rust with the label of what it leaves and a value."""

    at: int
    label: str = ""
    value: Expr | None = None


@dataclass(frozen=True, slots=True)
class Continue:
    """`continue`, in Rust with the label of its loop."""

    at: int
    label: str = ""


@dataclass(frozen=True, slots=True)
class Delete:
    """`del` of names, attributes or items."""

    targets: tuple[Expr, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Declare:
    """`global` or `nonlocal` names."""

    kind: str
    names: tuple[str, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Assert:
    """`assert test`."""

    test: Expr
    at: int


@dataclass(frozen=True, slots=True)
class FunctionDef:
    """A function definition as a statement."""

    function: Function
    at: int


@dataclass(frozen=True, slots=True)
class ClassDef:
    """A class definition; keyword arguments of its bases have names."""

    name: str
    bases: tuple[Arg, ...]
    decorators: tuple[Expr, ...]
    body: Body
    at: int


@dataclass(frozen=True, slots=True)
class Import:
    """`import a.b` binds "a" (name None, bound "a"), `import a.b as c` binds c to a.b; `from m import n as k`
    has name n and bound k; `from m import *` has name "*". `level` counts the leading dots."""

    module: str
    name: str | None
    bound: str
    level: int
    at: int


Stmt = (
    Assign
    | Let
    | Update
    | Evaluate
    | If
    | While
    | For
    | With
    | Try
    | Match
    | Return
    | Raise
    | Break
    | Continue
    | Delete
    | Declare
    | Assert
    | FunctionDef
    | ClassDef
    | Import
)
Body = tuple[Stmt, ...]
