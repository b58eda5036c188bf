"""The base of all modules: a tree of parameters, buffers and submodules."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gradguard.runtime import dtypes
from gradguard.runtime.graph import Removable, type_name
from gradguard.runtime.modes import grad_mode, modes
from gradguard.runtime.nn.module_hooks import call_with_hooks
from gradguard.runtime.optim import clear_gradient
from gradguard.runtime.parameter import Parameter
from gradguard.runtime.state import TensorState
from gradguard.runtime.unchecked import Unchecked

if TYPE_CHECKING:
    from gradguard.runtime.tensor import Tensor


IncompatibleKeys = namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])


class Module:
    """Base class; assigning a Parameter or a Module to an attribute registers it."""

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]

    def __init__(self, *args: Unchecked, **kwargs: Unchecked) -> None:
        """Set up the tables; must run before any assignment."""
        for table in (
            "_parameters",
            "_buffers",
            "_modules",
            "_forward_pre_hooks",
            "_forward_hooks",
            "_backward_hooks",
        ):
            object.__setattr__(self, table, {})
        object.__setattr__(self, "_transient", set())
        object.__setattr__(self, "training", True)

    # -- calling ----------------------------------------------------------------------------

    def forward(self, *args: Unchecked, **kwargs: Unchecked) -> Unchecked:
        """Compute; subclasses say what."""
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    def __call__(self, *args: Unchecked, **kwargs: Unchecked) -> Unchecked:
        """Run forward and the hooks around it."""
        return call_with_hooks(self, args, kwargs)

    # -- attributes -------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Unchecked:
        """Look a name up among parameters, buffers and submodules."""
        for table in ("_parameters", "_buffers", "_modules"):
            entries = self.__dict__.get(table)
            if entries is not None and name in entries:
                return entries[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Unchecked) -> None:
        """Register parameters and modules; refuse to put anything else in their place.

        Raises:
            AttributeError: the base class was not initialised.
            TypeError: a parameter, buffer or submodule would be replaced by something else.
        """
        own = self.__dict__
        if isinstance(value, Parameter):
            if "_parameters" not in own:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, "_parameters")
            own["_parameters"][name] = value
        elif isinstance(value, Module):
            if "_modules" not in own:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, "_modules")
            own["_modules"][name] = value
        elif "_parameters" in own and name in own["_parameters"]:
            self._replace("_parameters", name, value, "parameter", "torch.nn.Parameter")
        elif "_modules" in own and name in own["_modules"]:
            self._replace("_modules", name, value, "child module", "torch.nn.Module")
        elif "_buffers" in own and name in own["_buffers"]:
            if value is None or isinstance(value, TensorState):
                own["_buffers"][name] = value
            else:
                raise TypeError(
                    f"cannot assign '{_type_of(value)}' object to buffer '{name}' (torch.Tensor or "
                    "None expected)"
                )
        else:
            object.__setattr__(self, name, value)

    def _forget(self, name: str, kept: str) -> None:
        # A name that is already in the right table keeps its place in the order.
        self.__dict__.pop(name, None)
        for table in {"_parameters", "_buffers", "_modules"} - {kept}:
            self.__dict__.get(table, {}).pop(name, None)

    def _replace(self, table: str, name: str, value: Unchecked, what: str, expected: str) -> None:
        if value is not None:
            raise TypeError(
                f"cannot assign '{_type_of(value)}' as {what} '{name}' ({expected} or None expected)"
            )
        self.__dict__[table][name] = None

    def __delattr__(self, name: str) -> None:
        """Unregister a name."""
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                return
        object.__delattr__(self, name)

    def __repr__(self) -> str:
        """Show the tree of modules."""
        children = "".join(f"  ({n}): {m!r}\n" for n, m in self._modules.items())
        return f"{type(self).__name__}({chr(10) + children if children else ''})"

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Register a tensor that is state, and no parameter."""
        self._buffers[name] = tensor
        if not persistent:
            self.__dict__["_transient"].add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Register a parameter, or the place of one."""
        self._parameters[name] = param

    def add_module(self, name: str, module: Module | None) -> None:
        """Register a submodule."""
        self._modules[name] = module

    register_module = add_module

    # -- walking ----------------------------------------------------------------------------

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """Yield this module and all below it, each once."""
        seen: set[int] = set()
        waiting: list[tuple[str, Module]] = [(prefix, self)]
        while waiting:
            path, module = waiting.pop(0)
            if id(module) in seen:
                continue
            seen.add(id(module))
            yield path, module
            below = [
                (f"{path}.{name}" if path else name, child)
                for name, child in module._modules.items()
                if child is not None
            ]
            waiting = below + waiting

    def modules(self) -> Iterator[Module]:
        """Yield this module and all below it."""
        for _, module in self.named_modules():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Yield the direct submodules."""
        for name, child in self._modules.items():
            if child is not None:
                yield name, child

    def children(self) -> Iterator[Module]:
        """Yield the direct submodules."""
        for _, child in self.named_children():
            yield child

    def _named(self, table: str, recurse: bool) -> Iterator[tuple[str, Unchecked]]:
        seen: set[int] = set()
        for path, module in self.named_modules() if recurse else [("", self)]:
            for name, value in getattr(module, table).items():
                if value is not None and id(value) not in seen:
                    seen.add(id(value))
                    yield (f"{path}.{name}" if path else name), value

    def named_parameters(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Parameter]]:
        """Yield parameters with their paths."""
        lead = f"{prefix}." if prefix else ""
        for name, value in self._named("_parameters", recurse):
            yield lead + name, value

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Yield parameters."""
        for _, value in self.named_parameters(recurse=recurse):
            yield value

    def named_buffers(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Unchecked]]:
        """Yield buffers with their paths."""
        lead = f"{prefix}." if prefix else ""
        for name, value in self._named("_buffers", recurse):
            yield lead + name, value

    def buffers(self, recurse: bool = True) -> Iterator[Unchecked]:
        """Yield buffers."""
        for _, value in self.named_buffers(recurse=recurse):
            yield value

    def get_submodule(self, target: str) -> Module:
        """Return the module at a dotted path."""
        module: Unchecked = self
        for part in target.split(".") if target else []:
            module = getattr(module, part)
        assert isinstance(module, Module)
        return module

    # -- modes and conversions --------------------------------------------------------------

    def train(self, mode: bool = True) -> Module:
        """Set training mode, which has nothing to do with grad mode.

        Raises:
            ValueError: ``mode`` is not a bool.
        """
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Module:
        """Leave training mode."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Module:
        """Freeze or unfreeze all parameters."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or fill them with zeros."""
        for p in self.parameters():
            clear_gradient(p, set_to_none)

    def apply(self, fn: Callable[[Module], Unchecked]) -> Module:
        """Call a function on all submodules, then on this module."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def _converted(self, convert: Callable[[Tensor], Tensor]) -> Module:
        # Parameters keep their identity: their data is replaced. Under inference mode that
        # makes inference tensors of them (torch 2.13).
        for module in self.modules():
            for p in module._parameters.values():
                if p is None:
                    continue
                with grad_mode(False):
                    p.data = convert(p)
                    if p._grad is not None:
                        p._grad.data = convert(p._grad)
            for name, buffer in module._buffers.items():
                if buffer is not None:
                    module._buffers[name] = convert(buffer)
        return self

    def to(self, *args: Unchecked, **kwargs: Unchecked) -> Module:
        """Convert floating parameters and buffers to a type; devices are ignored."""
        wanted = kwargs.get("dtype")
        for argument in args:
            if isinstance(argument, dtypes.dtype):
                wanted = argument

        def convert(t: Tensor) -> Tensor:
            if wanted is None or not t.dtype.is_floating_point:
                return t.clone() if modes.inference else t
            return t.to(wanted)

        return self._converted(convert)

    def double(self) -> Module:
        """Convert to float64."""
        return self.to(dtypes.float64)

    def float(self) -> Module:
        """Convert to float32."""
        return self.to(dtypes.float32)

    def half(self) -> Module:
        """Convert to float16."""
        return self.to(dtypes.float16)

    def cpu(self) -> Module:
        """Return the module."""
        return self

    def cuda(self, *args: Unchecked) -> Module:
        """Return the module."""
        return self

    # -- state ------------------------------------------------------------------------------

    def state_dict(self, *, prefix: str = "", keep_vars: bool = False) -> dict[str, Unchecked]:
        """Return parameters and buffers: detached aliases, unless ``keep_vars``."""
        state: dict[str, Unchecked] = {}
        for path, module in self.named_modules():
            lead = prefix + (f"{path}." if path else "")
            entries = {**module._parameters, **module._buffers}
            for name, value in entries.items():
                if value is not None and name not in module.__dict__["_transient"]:
                    state[lead + name] = value if keep_vars else value.detach()
        return state

    def load_state_dict(
        self, state_dict: Mapping[str, Unchecked], strict: bool = True, assign: bool = False
    ) -> Unchecked:
        """Copy values into parameters and buffers, in no_grad.

        Raises:
            RuntimeError: keys are missing or unexpected (when strict), or a shape differs.
        """
        own = self.state_dict(keep_vars=True)
        missing = [key for key in own if key not in state_dict]
        unexpected = [key for key in state_dict if key not in own]
        problems = []
        if strict and unexpected:
            keys = ", ".join(f'"{k}"' for k in unexpected)
            problems.append(f"Unexpected key(s) in state_dict: {keys}. ")
        if strict and missing:
            keys = ", ".join(f'"{k}"' for k in missing)
            problems.append(f"Missing key(s) in state_dict: {keys}. ")
        for key, value in state_dict.items():
            if key not in own:
                continue
            if own[key].shape != value.shape:
                problems.append(
                    f"size mismatch for {key}: copying a param with shape {value.shape} from "
                    f"checkpoint, the shape in current model is {own[key].shape}."
                )
                continue
            with grad_mode(False):
                own[key].copy_(value)
        if problems:
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(problems)
            )
        return IncompatibleKeys(missing, unexpected)

    @contextmanager
    def _substituted(self, tensors: Mapping[str, Unchecked]) -> Iterator[None]:
        replaced: list[tuple[dict[str, Unchecked], str, Unchecked]] = []
        for path, value in tensors.items():
            owner, _, name = path.rpartition(".")
            module = self.get_submodule(owner)
            known = name in module._parameters
            table: dict[str, Unchecked] = module.__dict__["_parameters" if known else "_buffers"]
            replaced.append((table, name, table[name]))
            table[name] = value
        try:
            yield
        finally:
            for table, name, value in replaced:
                table[name] = value

    # -- hooks ------------------------------------------------------------------------------

    def register_forward_pre_hook(self, hook: Callable[..., Unchecked], **_: Unchecked) -> Removable:
        """Run ``hook(module, inputs)`` before forward; it may replace the inputs."""
        return Removable.add(self.__dict__["_forward_pre_hooks"], hook)

    def register_forward_hook(self, hook: Callable[..., Unchecked], **_: Unchecked) -> Removable:
        """Run ``hook(module, inputs, output)`` after forward; it may replace the output."""
        return Removable.add(self.__dict__["_forward_hooks"], hook)

    def register_full_backward_hook(self, hook: Callable[..., Unchecked], **_: Unchecked) -> Removable:
        """Run ``hook(module, grad_inputs, grad_outputs)`` in backward."""
        return Removable.add(self.__dict__["_backward_hooks"], hook)


def _type_of(value: Unchecked) -> str:
    return type_name(value._self()) if isinstance(value, TensorState) else type(value).__name__
