"""What Python and programs ask of a tensor besides operations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from gradguard.runtime import dtypes
from gradguard.runtime.ops import conversion, creation, parts, selection, shape
from gradguard.runtime.state import TensorState, VersionCounter
from gradguard.runtime.unchecked import Unchecked

if TYPE_CHECKING:
    from gradguard.runtime.tensor import Tensor


class TensorProtocols(TensorState):
    """Length, iteration, printing, and questions about layout."""

    def __init__(self, *data: Unchecked) -> None:
        """Build as torch's legacy constructor does: from data, or with a given shape."""
        if len(data) == 1 and not isinstance(data[0], int):
            self._array = creation.to_array(data[0], dtypes.get_default_dtype())
        else:
            self._array = np.zeros(data, dtypes.get_default_dtype().numpy)
        self._counter = VersionCounter()

    def __len__(self) -> int:
        """Return the extent of the first dimension."""
        if not self._array.ndim:
            raise TypeError("len() of a 0-d tensor")
        return int(self._array.shape[0])

    def __iter__(self) -> Iterator[Tensor]:
        """Iterate over the slices of the first dimension, which are views."""
        if not self._array.ndim:
            raise TypeError("iteration over a 0-d tensor")
        return iter(parts.unbind(self._self()))

    def __contains__(self, element: Unchecked) -> bool:
        """Tell whether an element equals the value."""
        return bool(np.any(self._array == (element._array if isinstance(element, TensorState) else element)))

    def __repr__(self) -> str:
        """Show the values and how the tensor is tracked."""
        values = np.array2string(self._array, separator=", ", precision=4)
        node = self._node
        note = ""
        if node is not None:
            note = f", grad_fn=<{node.name()}>"
        elif self.requires_grad:
            note = ", requires_grad=True"
        return f"tensor({values}{note})"

    def __format__(self, spec: str) -> str:
        """Format a single element as a number."""
        return format(conversion.item(self._self()) if not self._array.ndim else repr(self), spec)

    def __deepcopy__(self, memo: dict[int, Unchecked]) -> Tensor:
        """Copy a leaf."""
        return conversion.deepcopy(self._self(), memo)

    def __array__(self, dtype: Unchecked = None, copy: bool | None = None) -> Unchecked:
        """Return the values for numpy."""
        return np.asarray(conversion.to_numpy(self._self()), dtype)

    # numpy must leave ``array * tensor`` to the tensor.
    __array_priority__ = 1000

    def size(self, dim: int | None = None) -> Unchecked:
        """Return the shape, or one extent."""
        return self.shape if dim is None else self._array.shape[dim]

    def dim(self) -> int:
        """Return the number of dimensions."""
        return self._array.ndim

    def numel(self) -> int:
        """Return the number of elements."""
        return self._array.size

    nelement = numel
    ndimension = dim

    def is_floating_point(self) -> bool:
        """Tell whether the elements are floats."""
        return self.dtype.is_floating_point

    def is_contiguous(self) -> bool:
        """Tell whether the elements lie in order."""
        return bool(self._array.flags.c_contiguous)

    def data_ptr(self) -> int:
        """Return the address of the first element."""
        return int(self._array.__array_interface__["data"][0])

    def element_size(self) -> int:
        """Return the bytes of one element."""
        return self.dtype.itemsize

    def stride(self, dim: int | None = None) -> Unchecked:
        """Return the distances between elements, counted in elements."""
        steps = tuple(s // self._array.itemsize for s in self._array.strides)
        return steps if dim is None else steps[dim]

    def cuda(self, *args: Unchecked, **kwargs: Unchecked) -> Tensor:
        """Return the tensor itself: a replayed program's device does not matter."""
        return self._self()

    def share_memory_(self) -> Tensor:
        """Return the tensor itself."""
        return self._self()

    def type(self, wanted: Unchecked = None) -> Unchecked:
        """Return the legacy name of the type, or convert to a type."""
        if wanted is None:
            return f"torch.{self.dtype.scalar_name}Tensor"
        return conversion.to(self._self(), wanted)

    @property
    def T(self) -> Tensor:
        """Return the dimensions in reverse order."""
        return shape.reversed_dims(self._self())

    @property
    def mT(self) -> Tensor:
        """Return the last two dimensions swapped."""
        return shape.matrix_transpose(self._self())

    @property
    def is_meta(self) -> bool:
        """Return False."""
        return False

    @property
    def is_sparse(self) -> bool:
        """Return False."""
        return False

    def where(self, condition: Tensor, other: Unchecked) -> Tensor:
        """Return the elements where the condition holds, ``other`` elsewhere."""
        chosen: Tensor = selection.where(condition, self._self(), other)
        return chosen
