"""``torch.utils.checkpoint``."""

from gradguard.runtime.checkpoint import CheckpointFunction, checkpoint, checkpoint_sequential
from gradguard.runtime.torch._absent import absent

__all__ = ["CheckpointFunction", "checkpoint", "checkpoint_sequential"]
__getattr__ = absent("torch.utils.checkpoint")
