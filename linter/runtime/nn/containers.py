"""Modules that hold modules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gradguard.runtime.nn.module import Module
from gradguard.runtime.parameter import Parameter
from gradguard.runtime.unchecked import Unchecked


class Sequential(Module):
    """Modules called one after the other."""

    def __init__(self, *modules: Unchecked) -> None:
        """Take modules, or a mapping of names to modules."""
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], Mapping):
            for name, module in modules[0].items():
                self.add_module(name, module)
        else:
            for index, module in enumerate(modules):
                self.add_module(str(index), module)

    def forward(self, input: Unchecked) -> Unchecked:
        """Pass the input through all."""
        for module in self.children():
            input = module(input)
        return input

    def append(self, module: Module) -> Sequential:
        """Add a module at the end."""
        self.add_module(str(len(self._modules)), module)
        return self

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        """Iterate over the modules."""
        return self.children()

    def __getitem__(self, index: Unchecked) -> Unchecked:
        """Return one module, or a Sequential of some."""
        picked = list(self.children())[index]
        return Sequential(*picked) if isinstance(index, slice) else picked


class ModuleList(Module):
    """A list of modules."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        """Take the modules."""
        super().__init__()
        self.extend(modules or ())

    def append(self, module: Module) -> ModuleList:
        """Add a module."""
        self.add_module(str(len(self._modules)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> ModuleList:
        """Add modules."""
        for module in modules:
            self.append(module)
        return self

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        """Iterate over the modules."""
        return self.children()

    def __getitem__(self, index: Unchecked) -> Unchecked:
        """Return one module, or a list of some."""
        picked = list(self.children())[index]
        return ModuleList(picked) if isinstance(index, slice) else picked


class ModuleDict(Module):
    """A mapping of modules."""

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        """Take the modules."""
        super().__init__()
        for name, module in (modules or {}).items():
            self.add_module(name, module)

    def __getitem__(self, key: str) -> Unchecked:
        """Return one module."""
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        """Set one module."""
        self.add_module(key, module)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        """Tell whether there is a module of that name."""
        return key in self._modules

    def keys(self) -> Iterable[str]:
        """Return the names."""
        return self._modules.keys()

    def values(self) -> Iterable[Unchecked]:
        """Return the modules."""
        return self._modules.values()

    def items(self) -> Iterable[tuple[str, Unchecked]]:
        """Return names and modules."""
        return self._modules.items()


class ParameterList(Module):
    """A list of parameters."""

    def __init__(self, values: Iterable[Unchecked] | None = None) -> None:
        """Take tensors; those that are no parameters become some."""
        super().__init__()
        for value in values or ():
            self.append(value)

    def append(self, value: Unchecked) -> ParameterList:
        """Add a parameter."""
        made = value if isinstance(value, Parameter) else Parameter(value)
        self.register_parameter(str(len(self._parameters)), made)
        return self

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._parameters)

    def __iter__(self) -> Iterator[Unchecked]:
        """Iterate over the parameters."""
        return iter(self._parameters.values())

    def __getitem__(self, index: int) -> Unchecked:
        """Return one parameter."""
        return list(self._parameters.values())[index]
