"""``torch.optim``."""

from gradguard.runtime.optim import SGD, Adam, AdamW, Optimizer
from gradguard.runtime.torch._absent import absent

__all__ = ["SGD", "Adam", "AdamW", "Optimizer"]
__getattr__ = absent("torch.optim")
