"""``torch.utils``, of which checkpointing alone is in scope."""

from gradguard.runtime.torch._absent import absent
from gradguard.runtime.torch.utils import checkpoint

__all__ = ["checkpoint"]
__getattr__ = absent("torch.utils")
