"""``torch.autograd.graph``."""

from gradguard.runtime.graph import Node
from gradguard.runtime.saved_hooks import save_on_cpu, saved_tensors_hooks
from gradguard.runtime.torch._absent import absent

__all__ = ["Node", "save_on_cpu", "saved_tensors_hooks"]
__getattr__ = absent("torch.autograd.graph")
