"""``torch.nn.init``."""

from gradguard.runtime.nn.init import (
    constant_,
    kaiming_normal_,
    kaiming_uniform_,
    normal_,
    ones_,
    uniform_,
    xavier_normal_,
    xavier_uniform_,
    zeros_,
)
from gradguard.runtime.torch._absent import absent

__all__ = [
    "constant_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]
__getattr__ = absent("torch.nn.init")
