"""``torch.nn.utils``."""

from gradguard.runtime.nn.gradient_norms import (
    clip_grad_norm_,
    clip_grad_value_,
    parameters_to_vector,
)
from gradguard.runtime.torch._absent import absent

__all__ = ["clip_grad_norm_", "clip_grad_value_", "parameters_to_vector"]
__getattr__ = absent("torch.nn.utils")
