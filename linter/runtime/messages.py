"""Texts of PyTorch's errors; the stable parts are those of torch 2.13."""

from __future__ import annotations

NO_GRAD_FN = "element {index} of tensors does not require grad and does not have a grad_fn"
NOT_SCALAR = "grad can be implicitly created only for scalar outputs"
BACKWARD_TWICE = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you "
    "call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward "
    "through the graph a second time or if you need to access saved tensors after calling "
    "backward."
)
DETACHED_SAVED = (
    "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is "
    "not supported, please use out-of-place `.detach()` instead"
)
MODIFIED = (
    "one of the variables needed for gradient computation has been modified by an inplace "
    "operation: [{type_name} {shape}]{origin} is at version {version}; expected version {saved} "
    "instead. Hint: enable anomaly detection to find the operation that failed to compute its "
    "gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False)."
)
INFERENCE_SAVED = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
    "inference mode in computation tracked by autograd. To work around this, you can make a clone "
    "to get a normal tensor and use it in autograd, or use `torch.no_grad()` instead of "
    "`torch.inference_mode()`."
)
INFERENCE_IN_PLACE = (
    "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone "
    "to get a normal tensor before doing inplace update.See "
    "https://github.com/pytorch/rfcs/pull/17 for more details."
)
INFERENCE_REQUIRES_GRAD = (
    "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."
)
INFERENCE_VERSION = "Inference tensors do not track version counter."
LEAF_IN_PLACE = "a leaf Variable that requires grad is being used in an in-place operation."
LEAF_VIEW_IN_PLACE = "a view of a leaf Variable that requires grad is being used in an in-place operation."
FLAG_OF_NON_LEAF = "you can only change requires_grad flags of leaf variables."
FLAG_OF_NON_LEAF_HINT = (
    " If you want to use a computed variable in a subgraph that doesn't require differentiation "
    "use var_no_grad = var.detach()."
)
FLAG_NOT_BOOL = "requires_grad must be a bool"
HOOK_UNTRACKED = "cannot register a hook on a tensor that doesn't require gradient"
HOOK_RESULT = "expected Variable, but hook returned '{found}'"
POST_HOOK_NON_LEAF = "post accumulate grad hooks cannot be registered on non-leaf tensors"
RETAIN_UNTRACKED = "can't retain_grad on Tensor that has requires_grad=False"
DETACH_VIEW = (
    "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel "
    "(DDP) for training, and gradient_as_bucket_view is set as True, gradients are views of DDP "
    "buckets, and hence detach_() cannot be called on these gradients. To fix this error, please "
    "refer to the Optimizer.zero_grad() function in torch/optim/optimizer.py as the solution."
)
IN_TRANSFORM = (
    "You are attempting to call Tensor.{name}(){aside} inside of a function being transformed by a "
    "functorch transform. This is unsupported, please attempt to use the functorch transforms "
    "(e.g. grad, vjp, jacrev, jacfwd, hessian) or call {name}() outside of a function being "
    "transformed instead."
)
BACKWARD_IN_TRANSFORM = (
    "backward() called inside a functorch transform. This is not supported, please use "
    "functorch.grad or functorch.vjp instead or call backward() outside of functorch transforms."
)
NUMPY_TRACKED = "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
DEEPCOPY_NON_LEAF = (
    "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at "
    "the moment.  If you were attempting to deepcopy a module, this may be because of a "
    "torch.nn.utils.weight_norm usage, see https://github.com/pytorch/pytorch/pull/103001"
)
OVERLAP = (
    "unsupported operation: more than one element of the written-to tensor refers to a single "
    "memory location. Please clone() the tensor before performing the operation."
)
PARTIAL_OVERLAP = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
    "single memory location. Please clone() the tensor before performing the operation."
)
OUT_TRACKED = (
    "{op}(): functions with out=... arguments don't support automatic differentiation, but one of "
    "the arguments requires grad."
)
UNUSED_INPUT = (
    "The differentiated Tensor at index {index} appears to not have been used in the graph. Set "
    "allow_unused=True if this is the desired behavior."
)
UNTRACKED_INPUT = "One of the differentiated Tensors does not require grad"
_AMBIGUOUS = (
    " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your "
    "code by moving both the view and the inplace either both inside the {block} block (if you "
    "don't want the inplace to be tracked) or both outside (if you want the inplace to be tracked)."
)
VIEW_REASONS = {
    "NO_GRAD": _AMBIGUOUS.format(block="no_grad"),
    "INFERENCE": _AMBIGUOUS.format(block="inference_mode"),
    "MULTI_OUTPUT": (
        " This view is the output of a function that returns multiple views. Such functions do "
        "not allow the output views to be modified inplace. You should replace the inplace "
        "operation by an out-of-place one."
    ),
    "CUSTOM_FUNCTION": (
        " This view was created inside a custom Function (or because an input was returned as-is) "
        "and the autograd logic to handle view+inplace would override the custom backward "
        "associated with the custom Function, leading to incorrect gradients. This behavior is "
        "forbidden. You can fix this by cloning the output of the custom Function."
    ),
}
VIEW_ITSELF = "is being"
VIEW_BASE = "its base or another view of its base has been"
