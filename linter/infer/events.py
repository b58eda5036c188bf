"""What the interpreter tells the rules."""

from __future__ import annotations

from gradguard.frozen import dataclass
from gradguard.infer.modes import GuardSite, Mode
from gradguard.infer.sites import Site
from gradguard.infer.values import Cause, Rebound, Tensor, Term


@dataclass(frozen=True, slots=True)
class CallChain:
    """The call sites from the root of the run down to the place of an event, outermost first; `depth` equals
    their number, `functions` the names of the functions called."""

    sites: tuple[Site, ...]
    functions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BackwardAsked:
    """`value.backward()` or a call that runs it."""

    value: Tensor
    subject: str
    site: Site
    mode: Mode
    chain: CallChain
    package: str = "torch"
    shared: bool = False


@dataclass(frozen=True, slots=True)
class GradientAsked:
    """`autograd.grad(outputs, inputs)` where `value`, the output (or the input when `is_input`), is untracked."""

    value: Tensor
    subject: str
    site: Site
    mode: Mode
    chain: CallChain
    is_input: bool = False
    package: str = "torch"


@dataclass(frozen=True, slots=True)
class GradRead:
    """`.grad` read of a value that has none."""

    value: Tensor
    subject: str
    site: Site
    chain: CallChain


@dataclass(frozen=True, slots=True)
class HookRegistered:
    """`value.register_hook(...)` on an untracked value."""

    value: Tensor
    subject: str
    site: Site
    mode: Mode
    chain: CallChain


@dataclass(frozen=True, slots=True)
class FlagForced:
    """A computed value was told to require gradients. `form` is the way it was written; `raises`: the flag is
    set on a tracked value by assignment."""

    value: Tensor | None
    subject: str
    form: str
    site: Site
    raises: bool
    backward: Site | None


@dataclass(frozen=True, slots=True)
class ActivationCut:
    """A tracked value went through a copy (`Variable(value)`) in the middle of a differentiated computation."""

    value: Tensor
    subject: str
    verb: str
    site: Site


@dataclass(frozen=True, slots=True)
class ConstantTerm:
    """A differentiated sum holds a term that carries no gradient."""

    term: Term
    subject: str
    backward: Site


@dataclass(frozen=True, slots=True)
class ParameterRebound:
    """A gradient was asked of a name that was rebound under a guard."""

    rebound: Rebound
    value: Tensor
    asked: Site
    package: str = "torch"


@dataclass(frozen=True, slots=True)
class UpdateSkips:
    """A loop over parameters writes them and passes over one without a gradient."""

    parameter: str
    site: Site
    write: Site
    in_optimizer: bool
    package: str = "torch"


@dataclass(frozen=True, slots=True)
class GuardUnused:
    """A guard was made and has no effect. `how`: statement, unread, class, manager, and."""

    guard: GuardSite
    how: str
    site: Site
    subject: str = ""


@dataclass(frozen=True, slots=True)
class GuardMiscalled:
    """`how`: uncalled (`with torch.no_grad:`), argument (`no_grad(model)`), misspelt."""

    name: str
    how: str
    site: Site
    near: str = ""


@dataclass(frozen=True, slots=True)
class YieldUnderGuard:
    guard: GuardSite
    site: Site
    function: str
    manager: bool


@dataclass(frozen=True, slots=True)
class AwaitUnderGuard:
    guard: GuardSite
    site: Site
    function: str


@dataclass(frozen=True, slots=True)
class CoroutineGuarded:
    """A guard decorator on a coroutine function or asynchronous generator."""

    guard: GuardSite
    site: Site
    function: str


@dataclass(frozen=True, slots=True)
class ModeLeft:
    """A call switched recording off, and a function (or module) was left with it off.

    `how`: raise, some-ways (it is restored on others), after-on (the function had switched it on itself),
    end. `asked` is a place that later needed a gradient under the leaked mode."""

    guard: GuardSite
    function: str
    how: str
    asked: Site | None = None


@dataclass(frozen=True, slots=True)
class ThreadStarted:
    """Work that records was handed to a thread from inside a guard."""

    guard: GuardSite
    site: Site
    target: str


@dataclass(frozen=True, slots=True)
class LazyEscaped:
    """A lazy expression made under a guard was returned from it or consumed outside it."""

    guard: GuardSite
    site: Site
    kind: str
    consumed: Site


@dataclass(frozen=True, slots=True)
class EnabledUnderInference:
    guard: GuardSite
    outer: GuardSite
    site: Site


@dataclass(frozen=True, slots=True)
class ClosureUnderGuard:
    """`known`: the closure is a function of the tree, so what it does was seen."""

    guard: GuardSite
    site: Site
    name: str
    klass: str
    known: bool


@dataclass(frozen=True, slots=True)
class GuardRepeated:
    guard: GuardSite
    outer: GuardSite
    site: Site


@dataclass(frozen=True, slots=True)
class FlagMisplaced:
    """`how`: module (an attribute nobody reads), misspelt, uncalled, overwritten."""

    name: str
    subject: str
    how: str
    site: Site


@dataclass(frozen=True, slots=True)
class InferenceTensorSaved:
    value: Tensor
    subject: str
    site: Site
    chain: CallChain


@dataclass(frozen=True, slots=True)
class UntrackedReturned:
    """A hook whose result a trainer differentiates returned an untracked value."""

    value: Tensor
    function: str
    site: Site


@dataclass(frozen=True, slots=True)
class GradientsUnchecked:
    """Nothing looks at the answer of a backward that says nothing of an untracked value."""

    site: Site


@dataclass(frozen=True, slots=True)
class ModuleMadeUnderInference:
    """A module built or moved under inference mode was trained later."""

    guard: GuardSite
    site: Site
    how: str
    trained: Site


@dataclass(frozen=True, slots=True)
class TrainableOnlyGuarded:
    """Every forward of a module with trainable parameters ran under a guard, and its parameters are optimized."""

    subject: str
    guard: GuardSite
    site: Site
    optimizer: Site


Event = (
    BackwardAsked
    | GradientAsked
    | GradRead
    | GradientsUnchecked
    | HookRegistered
    | FlagForced
    | ActivationCut
    | ConstantTerm
    | ParameterRebound
    | UpdateSkips
    | GuardUnused
    | GuardMiscalled
    | YieldUnderGuard
    | AwaitUnderGuard
    | CoroutineGuarded
    | ModeLeft
    | ThreadStarted
    | LazyEscaped
    | EnabledUnderInference
    | ClosureUnderGuard
    | GuardRepeated
    | FlagMisplaced
    | InferenceTensorSaved
    | UntrackedReturned
    | ModuleMadeUnderInference
    | TrainableOnlyGuarded
)

__all__ = ["Cause", "Event"]
