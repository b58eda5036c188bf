"""Places that ask for a gradient."""

from __future__ import annotations

from typing import Any

from gradguard.infer.constant_terms import close_windows, note_terms
from gradguard.infer.events import (
    BackwardAsked,
    CallChain,
    Event,
    FlagForced,
    GradientAsked,
    GradRead,
    HookRegistered,
    InferenceTensorSaved,
    ModeLeft,
    ParameterRebound,
)
from gradguard.infer.frames import Frame
from gradguard.infer.joins import leaves_of
from gradguard.infer.sites import Site
from gradguard.infer.state import State
from gradguard.infer.values import Tensor, Track, Unknown

ANYWHERE = -1


def chain_of(frame: Frame) -> CallChain:
    """The calls that lead to a frame."""
    return CallChain(frame.calls, frame.functions)


def is_expected(frame: Frame) -> bool:
    """Whether an error here is one that the program waits for: in a try block of this function, or anywhere
    under a test's `raises`."""
    return any(depth in (frame.depth, ANYWHERE) for depth in frame.run.expected)


def leak_of(frame: Frame, tensor: Tensor) -> ModeLeft | None:
    """The mode left off that made a tensor untracked, if its guard was left behind by a function that has ended."""
    guard = tensor.cause.guard if tensor.cause is not None else None
    if guard is None or guard.site not in frame.run.leaks:
        return None
    function, _ = frame.run.leaks[guard.site]
    return ModeLeft(guard, function, "end")


def _tell(frame: Frame, tensor: Tensor, event: Event, asked: Site) -> None:
    """Emit the event, or what stands behind it: a mode that was left off, or a rebound parameter."""
    guard = tensor.cause.guard if tensor.cause is not None else None
    if is_expected(frame) or (guard is not None and guard.site in frame.run.entered):
        return
    leak = leak_of(frame, tensor)
    if leak is not None:
        frame.run.emit(ModeLeft(leak.guard, leak.function, leak.how, asked))
        return
    if tensor.rebound:
        for rebound in tensor.rebound:
            frame.run.emit(ParameterRebound(rebound, tensor, asked))
        return
    frame.run.emit(event)


def options_of(state: State, value: Any) -> list[Any]:
    """The values that a value can be on this path."""
    return [state.resolve(one) for one in leaves_of(state.resolve(value))]


def backward_asked(
    frame: Frame, state: State, value: Any, subject: str, site: Site, package: str = "torch"
) -> None:
    """`value.backward()`."""
    options = options_of(state, value)
    close_windows(frame)
    if not options or any(_is_live(frame, option) for option in options):
        for option in options:
            _forced_unknown(frame, option, site)
            if isinstance(option, Tensor) and option.track is Track.TRACKED and len(options) == 1:
                note_terms(frame, state, option, subject, site)
                _lost_views(frame, state, option, subject, site, package)
            if isinstance(option, Tensor) and option.track is Track.TRACKED:
                frame.run.live.append((site, frame.run.root))
        return
    tensor = next((one for one in options if one.cause is not None), options[0])
    if tensor.forced is not None:
        flag, form = tensor.forced
        frame.run.emit(FlagForced(tensor, subject, form, flag, False, site))
    elif tensor.cause is not None:
        event = BackwardAsked(tensor, subject, site, state.mode, chain_of(frame), package)
        _tell(frame, tensor, event, site)


def _is_live(frame: Frame, option: Any) -> bool:
    """Whether backward on the value may be right."""
    if not isinstance(option, Tensor):
        return True
    if option.track is Track.FORCED:
        return False
    if option.track in (Track.UNTRACKED, Track.VIEW):
        return option.cause is None
    return True


def _forced_unknown(frame: Frame, option: Any, site: Site) -> None:
    if isinstance(option, Unknown | Tensor) and option.origin in frame.run.forced:
        flag, form, subject = frame.run.forced.pop(option.origin)
        frame.run.emit(FlagForced(None, subject, form, flag, form.startswith("."), site))


def _lost_views(frame: Frame, state: State, tensor: Tensor, subject: str, site: Site, package: str) -> None:
    """Guarded views of values that nothing else uses: what lies behind them gets no gradient."""
    for view in tensor.views:
        frame.run.emit(BackwardAsked(view, subject, site, state.mode, chain_of(frame), package))


def gradient_asked(
    frame: Frame,
    state: State,
    value: Any,
    subject: str,
    site: Site,
    *,
    is_input: bool,
    package: str = "torch",
) -> bool:
    """`autograd.grad`: tells of an untracked output or input; True where something was told."""
    options = options_of(state, value)
    if not options or any(_is_live(frame, option) for option in options):
        return False
    tensor = next((one for one in options if one.cause is not None), options[0])
    if tensor.cause is None or tensor.forced is not None:
        return False
    if tensor.track is Track.VIEW and not is_input:
        return False
    event = GradientAsked(tensor, subject, site, state.mode, chain_of(frame), is_input, package)
    _tell(frame, tensor, event, site)
    return True


def grad_read(frame: Frame, state: State, value: Any, subject: str, site: Site) -> None:
    """`value.grad` read."""
    tensor = state.resolve(value)
    if not isinstance(tensor, Tensor):
        return
    if tensor.rebound:
        for rebound in tensor.rebound:
            frame.run.emit(ParameterRebound(rebound, tensor, site))
    elif tensor.converted is not None and tensor.track is Track.TRACKED:
        frame.run.emit(GradRead(tensor, subject, site, chain_of(frame)))


def gradient_used(frame: Frame, state: State, gradient: Tensor) -> None:
    """Something is done with `value.grad`: tell if the value is an intermediate one that did not keep it."""
    found = frame.run.grad_of.get(gradient.origin)
    if found is None or is_expected(frame):
        return
    value, subject, site = found
    if f"t{value.origin}.retained" not in state.facts and value.converted is None:
        frame.run.emit(GradRead(value, subject, site, chain_of(frame)))


def hook_registered(frame: Frame, state: State, value: Any, subject: str, site: Site) -> None:
    """`value.register_hook(...)`: tells of an untracked value."""
    tensor = state.resolve(value)
    if not isinstance(tensor, Tensor) or tensor.track is not Track.UNTRACKED or tensor.cause is None:
        return
    _tell(frame, tensor, HookRegistered(tensor, subject, site, state.mode, chain_of(frame)), site)


def inference_saved(frame: Frame, state: State, value: Tensor, subject: str, site: Site) -> None:
    """Tell of an inference tensor that autograd must save."""
    if not is_expected(frame):
        frame.run.emit(InferenceTensorSaved(value, subject, site, chain_of(frame)))


def is_tracked(tensor: Tensor) -> bool | None:
    """What `tensor.requires_grad` says."""
    match tensor.track:
        case Track.TRACKED | Track.LEAF | Track.FORCED | Track.VIEW:
            return True
        case Track.UNTRACKED:
            return False
        case Track.DATA:
            return None if tensor.opaque or tensor.assumed else False
    return None
