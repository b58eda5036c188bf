"""How programs written for Paddle say what the embedded runtime knows under torch's names."""

from __future__ import annotations

from gradguard.replay.session import Session
from gradguard.replay.value import Value

_NAMES = {
    "paddle.nn.Layer": "torch.nn.Module",
    "paddle.nn.LayerList": "torch.nn.ModuleList",
    "paddle.grad": "torch.autograd.grad",
    "paddle.autograd.backward": "torch.autograd.backward",
    "paddle.concat": "torch.cat",
}
_METHODS = {"clear_grad": "zero_grad", "clear_gradient": "zero_grad", "clear_gradients": "zero_grad"}


def torch_name(path: str) -> str:
    """The name under which torch has what Paddle calls `path`."""
    if path in _NAMES or path.partition(".")[0] != "paddle":
        return _NAMES.get(path, path)
    rest = path.removeprefix("paddle")
    return (
        f"torch.optim{rest.removeprefix('.optimizer')}" if rest.startswith(".optimizer") else f"torch{rest}"
    )


def own_function(session: Session, path: str) -> Value:
    """A function that Paddle writes in its own way; None where it does not."""
    torch = session.backend.torch
    if path == "paddle.to_tensor":
        return lambda data, *args, stop_gradient=True, **kwargs: _tensor(session, data, stop_gradient)
    if path == "paddle.create_parameter":
        return lambda shape, *args, **kwargs: torch.nn.Parameter(torch.full(tuple(shape), 0.5))
    return None


def _tensor(session: Session, data: Value, stop_gradient: Value) -> Value:
    torch = session.backend.torch
    made = data.detach().clone() if session.backend.is_tensor(data) else torch.tensor(data)
    if not stop_gradient:
        made = (made if made.is_floating_point() else made.float()).requires_grad_()
    return made


def read(session: Session, base: Value, name: str) -> tuple[Value] | None:
    """An attribute that only Paddle's tensors, layers and optimizers have, in a tuple."""
    if session.backend.profile != "paddle":
        return None
    if name == "stop_gradient" and session.backend.is_tensor(base):
        return (not base.requires_grad,)
    if name not in _METHODS:
        return None
    if session.backend.is_tensor(base):
        return (lambda *args, **kwargs: setattr(base, "grad", None),)
    method = getattr(base, _METHODS[name], None)
    return None if method is None else (lambda *args, **kwargs: method(),)


def written(session: Session, base: Value, name: str, value: Value) -> tuple[str, Value]:
    """The name and the value under which torch writes what Paddle writes."""
    if session.backend.profile == "paddle" and name == "stop_gradient" and session.backend.is_tensor(base):
        return "requires_grad", not value
    return name, value
