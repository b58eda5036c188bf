"""``torch.autograd.function``."""

from gradguard.runtime.function import Function, once_differentiable
from gradguard.runtime.function import FunctionContext as FunctionCtx
from gradguard.runtime.torch._absent import absent

__all__ = ["Function", "FunctionCtx", "once_differentiable"]
__getattr__ = absent("torch.autograd.function")
