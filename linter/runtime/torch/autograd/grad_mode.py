"""``torch.autograd.grad_mode``."""

from gradguard.runtime.guards import enable_grad, inference_mode, no_grad, set_grad_enabled
from gradguard.runtime.torch._absent import absent

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled"]
__getattr__ = absent("torch.autograd.grad_mode")
