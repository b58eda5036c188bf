"""The names of a crate: what its modules define and import, and what a path leads to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gradguard.infer.rust.types import Type, parse_type
from gradguard.ir import nodes as ir
from gradguard.lower.module import Unreadable

if TYPE_CHECKING:
    from gradguard.discover.disk import Disk
    from gradguard.infer.program import Program

_ROOTS = ("main", "lib", "mod")
_HOPS = 8
_CLIMB = 8


@dataclass(eq=False, slots=True)
class TypeInfo:
    """A type of the tree. `kind` is struct, enum or trait ("" for a foreign type that the tree has an
    impl for)."""

    name: str
    kind: str
    space: Space
    fields: dict[str, Type] = field(default_factory=dict)
    variants: frozenset[str] = frozenset()
    methods: dict[str, ir.Function] = field(default_factory=dict)
    traits: set[str] = field(default_factory=set)


@dataclass(eq=False, slots=True)
class Space:
    """A module: of the file `key`, or one written inside it."""

    key: str
    parent: Space | None = None
    functions: dict[str, ir.Function] = field(default_factory=dict)
    types: dict[str, TypeInfo] = field(default_factory=dict)
    aliases: dict[str, Type] = field(default_factory=dict)
    constants: dict[str, ir.Expr] = field(default_factory=dict)
    inner: dict[str, Space] = field(default_factory=dict)
    files: set[str] = field(default_factory=set)
    uses: dict[str, str] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)

    def type(self, name: str) -> TypeInfo:
        """The type of that name, made if it is not there."""
        if name not in self.types:
            self.types[name] = TypeInfo(name, "", self)
        return self.types[name]


@dataclass(frozen=True, slots=True)
class Found:
    """What a path leads to. `kind` is function, type, variant, constant, space or outside (with the path)."""

    kind: str
    path: str = ""
    function: ir.Function | None = None
    owner: TypeInfo | None = None
    space: Space | None = None
    value: Any = None


@dataclass(slots=True)
class Spaces:
    """The modules of a program, read when asked for."""

    program: Program
    known: dict[str, Space | None] = field(default_factory=dict)
    told: dict[tuple[int, str, str], Found | None] = field(default_factory=dict)
    libraries: dict[str, tuple[str, str]] = field(default_factory=dict)
    defined: set[int] = field(default_factory=set)

    def of_file(self, key: str) -> Space | None:
        """The module of a file; None where there is none."""
        if key not in self.known:
            self.known[key] = None
            lowered = self.program.modules.get(key)
            if lowered is None:
                lowered = self.program.open_path(key)
                if lowered is not None:
                    self.program.add(key, lowered)
            if lowered is not None and lowered.source.language == "rust":
                space = Space(key)
                self.known[key] = space
                for chunk in lowered.chunks:
                    _define_all(space, _body(lowered, chunk.index))
        return self.known[key]

    def defines_method(self, name: str, besides: frozenset[str] = frozenset()) -> bool:
        """Whether any module read so far has a method or function of that name, but for methods of types that
        have one of the traits `besides`."""
        return any(_has_method(space, name, besides) for space in self.known.values() if space is not None)

    def find(self, space: Space, path: str, owner: TypeInfo | None = None, hops: int = _HOPS) -> Found:
        """What a path means in a module; `owner` is what `Self` stands for."""
        head, _, rest = path.partition("::")
        if hops == 0:
            return Found("outside", path)
        if head == "Self" and owner is not None:
            return _in_type(owner, rest) if rest else Found("type", owner=owner)
        start = self._anchor(space, head)
        if start is not None:
            return self.inside(start, rest, hops - 1) if rest else Found("space", space=start)
        if head in ("crate", "super", "self"):
            return Found("unknown", path)
        found = self._local(space, head, rest, hops)
        return found if found is not None else Found("outside", path)

    def inside(self, space: Space, path: str, hops: int = _HOPS) -> Found:
        """What a path means seen from outside a module."""
        head, _, rest = path.partition("::")
        if head in ("super", "self"):
            return self.find(space, path, None, hops)
        found = self._local(space, head, rest, hops) if hops else None
        return found if found is not None else Found("unknown", path)

    def _anchor(self, space: Space, head: str) -> Space | None:
        match head:
            case "crate":
                return self._crate_root(space)
            case "self":
                return space
            case "super":
                return space.parent if space.parent is not None else self._parent_of(space)
            case _:
                return None

    def define(self, space: Space, statement: ir.Stmt) -> None:
        """Note what an item inside a function defines."""
        if id(statement) not in self.defined:
            self.defined.add(id(statement))
            define(space, statement)
            self.told.clear()

    def _local(self, space: Space, head: str, rest: str, hops: int) -> Found | None:
        # While a name is looked up, meeting it again (imports that go round in a circle) gives nothing.
        key = (id(space), head, rest)
        if key not in self.told:
            self.told[key] = None
            self.told[key] = self._look_up(space, head, rest, hops)
        return self.told[key]

    def _look_up(self, space: Space, head: str, rest: str, hops: int) -> Found | None:
        if head in space.functions and not rest:
            return Found("function", function=space.functions[head], space=space)
        if head in space.types and space.types[head].kind:
            return _in_type(space.types[head], rest) if rest else Found("type", owner=space.types[head])
        if head in space.aliases:
            aliased = space.aliases[head].path
            return self.find(space, f"{aliased}::{rest}" if rest else aliased, None, hops - 1)
        if head in space.constants and not rest:
            return Found("constant", space=space, value=space.constants[head])
        child = self._child(space, head)
        if child is not None:
            return self.inside(child, rest, hops - 1) if rest else Found("space", space=child)
        if head in space.uses:
            target = space.uses[head]
            return self._used(space, f"{target}::{rest}" if rest else target, hops - 1)
        for star in space.stars:
            found = self._used(space, f"{star}::{head}" + (f"::{rest}" if rest else ""), hops - 2)
            if found.kind not in ("outside", "unknown"):
                return found
        own = self._own_library(space, head)
        if own is not None and rest:
            return self.inside(own, rest, hops - 1)
        for name, info in space.types.items():
            if name == head and rest.partition("::")[0] in info.methods:
                return _in_type(info, rest)
        return None

    def _used(self, space: Space, path: str, hops: int) -> Found:
        if hops <= 0:
            return Found("outside", path)
        head, _, rest = path.partition("::")
        start = self._anchor(space, head)
        if start is None:
            start = self._child(space, head) or self._own_library(space, head)
        if start is None and head in space.types and space.types[head].kind == "enum":
            return _in_type(space.types[head], rest)
        if start is None:
            return Found("outside", path)
        return self.inside(start, rest, hops) if rest else Found("space", space=start)

    def _child(self, space: Space, name: str) -> Space | None:
        if name in space.inner:
            return space.inner[name]
        if name not in space.files:
            return None
        folder, base = os.path.split(space.key)
        stem = base.removesuffix(".rs")
        nested = os.path.join(folder, stem)
        folders = [folder, nested] if stem in _ROOTS else [nested, folder]
        for one in folders:
            for candidate in (os.path.join(one, f"{name}.rs"), os.path.join(one, name, "mod.rs")):
                found = self.of_file(candidate) if candidate != space.key else None
                if found is not None:
                    return found
        return None

    def _parent_of(self, space: Space) -> Space | None:
        folder, base = os.path.split(space.key)
        if base == "mod.rs":
            folder, base = os.path.split(folder)
        for candidate in ("mod.rs", "lib.rs", "main.rs"):
            path = os.path.join(folder, candidate)
            if path != space.key and (found := self.of_file(path)) is not None:
                return found
        return self.of_file(f"{folder}.rs")

    def _crate_root(self, space: Space) -> Space | None:
        while space.parent is not None:
            space = space.parent
        if os.path.basename(space.key) in ("main.rs", "lib.rs") or not os.path.isabs(space.key):
            return space
        folder = os.path.dirname(space.key)
        if os.path.basename(folder) in ("bin", "examples", "tests", "benches"):
            return space
        for _ in range(_CLIMB):
            for name in ("lib.rs", "main.rs"):
                found = self.of_file(os.path.join(folder, name))
                if found is not None:
                    return found
            if os.path.exists(os.path.join(folder, "Cargo.toml")) or os.path.dirname(folder) == folder:
                break
            folder = os.path.dirname(folder)
        return space

    def _own_library(self, space: Space, name: str) -> Space | None:
        """The library of the package that the file belongs to, by the package's name."""
        folder = os.path.dirname(space.key)
        if folder not in self.libraries:
            disk = self.program.imports.disk
            self.libraries[folder] = _library_of(folder, disk) if os.path.isabs(folder) else ("", "")
        package, path = self.libraries[folder]
        return self.of_file(path) if package == name and path else None


def _library_of(folder: str, disk: Disk) -> tuple[str, str]:
    """The package that a folder belongs to, and its library's file."""
    for _ in range(_CLIMB):
        manifest = os.path.join(folder, "Cargo.toml")
        if disk.is_file(manifest):
            return _package(disk.text(manifest) or ""), os.path.join(folder, "src", "lib.rs")
        if os.path.dirname(folder) == folder:
            break
        folder = os.path.dirname(folder)
    return "", ""


def _package(manifest: str) -> str:
    inside = False
    for line in manifest.splitlines():
        if line.strip().startswith("["):
            inside = line.strip() in ("[package]", "[lib]")
        elif inside and line.replace(" ", "").startswith("name="):
            return line.partition("=")[2].split("#")[0].strip(" \"'").replace("-", "_")
    return ""


def _body(lowered: Any, index: int) -> ir.Body:
    try:
        body: ir.Body = lowered.body(index)
    except (Unreadable, RecursionError):
        return ()
    return body


def _define_all(space: Space, body: ir.Body) -> None:
    for statement in body:
        define(space, statement)


def define(space: Space, statement: ir.Stmt) -> None:
    """Note what an item defines."""
    match statement:
        case ir.FunctionDef(function=function):
            space.functions[function.name] = function
        case ir.Assign(targets=(ir.Name(id=name),), value=value):
            space.constants[name] = value
        case ir.Import(module=module, name="*"):
            space.stars.append(module)
        case ir.Import(module=module, name=None):
            space.files.add(module)
        case ir.Import(module=module, name=name, bound=bound):
            space.uses[bound] = f"{module}::{name}" if module else str(name)
        case ir.ClassDef(name=name, decorators=(ir.Name(id=kind),), body=body):
            _define_type(space, statement, name, kind, body)


def _define_type(space: Space, statement: ir.ClassDef, name: str, kind: str, body: ir.Body) -> None:
    if kind == "mod":
        inner = Space(space.key, space)
        space.inner[name] = inner
        _define_all(inner, body)
        return
    if kind == "type":
        aliased = statement.bases[0].value
        if isinstance(aliased, ir.Name):
            space.aliases[name] = parse_type(aliased.id)
        return
    info = space.type(name.rsplit("::", 1)[-1])
    if kind != "impl":
        info.kind = kind
    info.traits.update(
        arg.value.id.rsplit("::", 1)[-1] for arg in statement.bases if isinstance(arg.value, ir.Name)
    )
    for part in body:
        match part:
            case ir.FunctionDef(function=function):
                info.methods[function.name] = function
            case ir.Assign(targets=(ir.Name(id=field_name),), value=ir.Name(id=written)) if kind == "struct":
                info.fields[field_name] = parse_type(written)
            case ir.Evaluate(value=ir.Name(id=variant)) if kind == "enum":
                info.variants |= {variant}


def _in_type(info: TypeInfo, rest: str) -> Found:
    name = rest.partition("::")[0]
    if name in info.methods:
        return Found("function", function=info.methods[name], owner=info, space=info.space)
    if name in info.variants:
        return Found("variant", name, owner=info)
    return Found("unknown", name, owner=info)


def only_type_with(spaces: Spaces, trait: TypeInfo) -> TypeInfo | None:
    """The one type of the tree that has a trait; None where it is not the only one."""
    found = _types_with(spaces, trait)
    return found[0] if len(found) == 1 else None


def method_of(spaces: Spaces, info: TypeInfo, name: str) -> tuple[TypeInfo, ir.Function] | None:
    """A method of a type and the type that it is written for: its own, or one that a trait of the tree gives. A
    trait's is that of the only type that has the trait."""
    own = info.methods.get(name)
    if info.kind == "trait":
        having = _types_with(spaces, info)
        if len(having) == 1:
            return method_of(spaces, having[0], name)
        return (info, own) if own is not None and own.body and not having else None
    if own is not None and own.body:
        return info, own
    for trait in sorted(info.traits):
        found = spaces.find(info.space, trait)
        given = found.owner.methods.get(name) if found.owner is not None and found.kind == "type" else None
        if given is not None and given.body and found.owner is not None:
            return found.owner, given
    return None


def _types_with(spaces: Spaces, trait: TypeInfo) -> list[TypeInfo]:
    return [
        info
        for space in spaces.known.values()
        if space is not None
        for info in _types_in(space)
        if trait.name in info.traits
    ]


def _types_in(space: Space) -> Iterator[TypeInfo]:
    yield from space.types.values()
    for inner in space.inner.values():
        yield from _types_in(inner)


def _has_method(space: Space, name: str, besides: frozenset[str]) -> bool:
    types = [info for info in space.types.values() if name in info.methods]
    if name in space.functions or any(not info.traits & besides for info in types):
        return True
    return any(_has_method(inner, name, besides) for inner in space.inner.values())
