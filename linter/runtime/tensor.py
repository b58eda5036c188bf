"""The tensor: its state, and the table of its methods."""

from __future__ import annotations

from gradguard.runtime.backward import tensor_backward
from gradguard.runtime.hooks import (
    register_hook,
    register_post_accumulate_grad_hook,
    retain_grad,
)
from gradguard.runtime.operators import TensorOperators
from gradguard.runtime.ops import (
    arithmetic,
    comparison,
    conversion,
    creation,
    extremes,
    gathering,
    indexing,
    joining,
    linalg,
    parts,
    pointwise,
    reduction,
    selection,
    shape,
    softmax,
    statistics,
)
from gradguard.runtime.state import Size


class Tensor(TensorOperators):
    """An array with a place in a graph."""

    # -- autograd -------------------------------------------------------------------------

    backward = tensor_backward
    register_hook = register_hook
    register_post_accumulate_grad_hook = register_post_accumulate_grad_hook
    retain_grad = retain_grad
    detach = conversion.detach
    detach_ = conversion.detach_
    clone = conversion.clone

    # -- conversions to Python, and indices ---------------------------------------------

    __hash__ = TensorOperators.__hash__
    __float__ = conversion.as_float
    __int__ = conversion.as_int
    __index__ = conversion.as_index
    __bool__ = conversion.as_bool
    __getitem__ = indexing.getitem
    __setitem__ = indexing.setitem

    # -- arithmetic -----------------------------------------------------------------------

    add = arithmetic.add
    sub = subtract = arithmetic.sub
    mul = multiply = arithmetic.mul
    div = divide = true_divide = arithmetic.div
    floor_divide = arithmetic.floor_divide
    remainder = fmod = arithmetic.remainder
    pow = arithmetic.power
    square = arithmetic.square
    add_ = arithmetic.add_
    sub_ = subtract_ = arithmetic.sub_
    mul_ = multiply_ = arithmetic.mul_
    div_ = divide_ = arithmetic.div_
    pow_ = arithmetic.pow_
    square_ = arithmetic.square_
    remainder_ = arithmetic.remainder_
    floor_divide_ = arithmetic.floor_divide_
    dot = linalg.dot
    matmul = linalg.matmul
    mm = linalg.mm
    mv = linalg.mv
    bmm = linalg.bmm
    outer = linalg.outer
    addmm = linalg.addmm
    trace = linalg.trace
    tril = linalg.tril
    triu = linalg.triu
    diag = linalg.diag
    diagonal = parts.diagonal

    # -- element by element ---------------------------------------------------------------

    neg = negative = pointwise.neg
    exp = pointwise.exp
    expm1 = pointwise.expm1
    log = pointwise.log
    log1p = pointwise.log1p
    log2 = pointwise.log2
    log10 = pointwise.log10
    sin = pointwise.sin
    cos = pointwise.cos
    tan = pointwise.tan
    asin = pointwise.asin
    acos = pointwise.acos
    atan = pointwise.atan
    sinh = pointwise.sinh
    cosh = pointwise.cosh
    tanh = pointwise.tanh
    sigmoid = pointwise.sigmoid
    sqrt = pointwise.sqrt
    rsqrt = pointwise.rsqrt
    reciprocal = pointwise.reciprocal
    abs = absolute = pointwise.absolute
    sign = sgn = pointwise.sign
    floor = pointwise.floor
    ceil = pointwise.ceil
    round = pointwise.rounded
    trunc = pointwise.trunc
    frac = pointwise.frac
    relu = pointwise.relu
    erf = pointwise.erf
    clamp = clip = pointwise.clamp
    clamp_ = clip_ = pointwise.clamp_
    clamp_min = pointwise.clamp_min
    clamp_max = pointwise.clamp_max
    clamp_min_ = pointwise.clamp_min_
    clamp_max_ = pointwise.clamp_max_
    neg_ = pointwise.IN_PLACE["neg_"]
    exp_ = pointwise.IN_PLACE["exp_"]
    log_ = pointwise.IN_PLACE["log_"]
    sin_ = pointwise.IN_PLACE["sin_"]
    cos_ = pointwise.IN_PLACE["cos_"]
    tanh_ = pointwise.IN_PLACE["tanh_"]
    sigmoid_ = pointwise.IN_PLACE["sigmoid_"]
    sqrt_ = pointwise.IN_PLACE["sqrt_"]
    rsqrt_ = pointwise.IN_PLACE["rsqrt_"]
    reciprocal_ = pointwise.IN_PLACE["reciprocal_"]
    abs_ = pointwise.IN_PLACE["abs_"]
    sign_ = pointwise.IN_PLACE["sign_"]
    floor_ = pointwise.IN_PLACE["floor_"]
    ceil_ = pointwise.IN_PLACE["ceil_"]
    round_ = pointwise.IN_PLACE["round_"]
    relu_ = pointwise.IN_PLACE["relu_"]
    log_softmax = softmax.log_softmax
    softmax = softmax.softmax

    # -- choosing -------------------------------------------------------------------------

    maximum = selection.maximum
    minimum = selection.minimum
    atan2 = selection.atan2
    lerp = selection.lerp
    lerp_ = selection.lerp_
    addcmul = selection.addcmul
    addcmul_ = selection.addcmul_
    addcdiv = selection.addcdiv
    addcdiv_ = selection.addcdiv_
    masked_fill = selection.masked_fill
    masked_fill_ = selection.masked_fill_

    # -- reducing -------------------------------------------------------------------------

    sum = reduction.sum_
    mean = reduction.mean
    prod = reduction.prod
    max = extremes.max_
    min = extremes.min_
    amax = extremes.amax
    amin = extremes.amin
    norm = statistics.norm
    var = statistics.var
    std = statistics.std
    logsumexp = statistics.logsumexp
    cumsum = statistics.cumsum
    all = comparison.all_
    any = comparison.any_
    argmax = comparison.argmax
    argmin = comparison.argmin
    argsort = comparison.argsort
    nonzero = comparison.nonzero

    # -- comparing ------------------------------------------------------------------------

    eq = comparison.eq
    ne = comparison.ne
    lt = comparison.lt
    le = comparison.le
    gt = comparison.gt
    ge = comparison.ge
    equal = comparison.equal
    isclose = comparison.isclose
    allclose = comparison.allclose
    isnan = comparison.isnan
    isinf = comparison.isinf
    isfinite = comparison.isfinite
    logical_and = comparison.logical_and
    logical_or = comparison.logical_or
    logical_not = comparison.logical_not

    # -- views and copies -----------------------------------------------------------------

    view = shape.view
    view_as = shape.view_as
    reshape = shape.reshape
    reshape_as = shape.reshape_as
    flatten = shape.flatten
    ravel = shape.ravel
    unflatten = shape.unflatten
    permute = shape.permute
    transpose = swapaxes = shape.transpose
    t = shape.t
    movedim = shape.movedim
    squeeze = shape.squeeze
    unsqueeze = shape.unsqueeze
    expand = shape.expand
    expand_as = shape.expand_as
    broadcast_to = shape.broadcast_to
    narrow = parts.narrow
    select = parts.select
    unbind = parts.unbind
    split = parts.split
    chunk = parts.chunk
    repeat = joining.repeat
    gather = gathering.gather
    index_select = gathering.index_select
    masked_select = gathering.masked_select
    flip = gathering.flip
    sort = gathering.sort
    topk = gathering.topk
    roll = gathering.roll

    # -- conversions and writes -----------------------------------------------------------

    to = conversion.to
    double = conversion.double
    float = conversion.to_float
    half = conversion.half
    long = conversion.long
    int = conversion.to_int
    bool = conversion.to_bool
    type_as = conversion.type_as
    cpu = conversion.cpu
    contiguous = conversion.contiguous
    copy_ = conversion.copy_
    fill_ = conversion.fill_
    zero_ = conversion.zero_
    normal_ = conversion.normal_
    uniform_ = conversion.uniform_
    item = conversion.item
    tolist = conversion.tolist
    numpy = conversion.to_numpy
    new_zeros = creation.new_zeros
    new_ones = creation.new_ones
    new_empty = creation.new_empty
    new_full = creation.new_full
    new_tensor = creation.new_tensor


__all__ = ["Size", "Tensor"]
