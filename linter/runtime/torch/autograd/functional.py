"""``torch.autograd.functional``."""

from gradguard.runtime.functional_autograd import hessian, jacobian, jvp, vjp
from gradguard.runtime.torch._absent import absent

__all__ = ["hessian", "jacobian", "jvp", "vjp"]
__getattr__ = absent("torch.autograd.functional")
