"""A whole trial as one linear map: what a change of its commands changes in its positions.

Stacking the rows of a trial gives y = P·u + d with a lower triangular matrix P, the lifted model. Near a
trajectory the columns of P are impulse responses that change slowly along it: the pose decides how far a spring
yields and what the weight does. So P is given by the responses at a few instants, and between two of them by
both, in proportion:

    y = Σ_k h_k ∗ (w_k·u),   w_k(t) the hat function of instant k.

It is never written out: products go by FFT, O(n·log n).

Source: Bristow, Tharayil & Alleyne 2006, A survey of iterative learning control, section on the lifted system.
"""

import numpy as np
from numpy.typing import NDArray

from pliant.controllers.checks import Array
from pliant.errors import ShapeError


def coupled_response(response: Array, joints: int) -> Array:
    """Return impulse responses in their full form, (instants, m, joints, joints).

    Args:
        response: (m,), the same for each joint; (m, joints), each its own; or (instants, m, joints, joints), of
            the first joint axis to a command of the second, at instants evenly spread over the rows of a trial.
        joints: of the motion.

    Raises:
        ShapeError: of another number of joints.
    """
    if response.ndim == 4:
        if response.shape[2:] != (joints, joints):
            raise ShapeError(
                f"the model couples {response.shape[2]} × {response.shape[3]} joints, the motion has {joints}."
            )
        return response
    each = response.reshape(len(response), -1)
    if each.shape[1] not in (1, joints):
        raise ShapeError(f"the model has {each.shape[1]} joints, the motion {joints}.")
    return np.array(np.eye(joints) * each[None, :, None, :])


class LiftedModel:
    """The linear map from the commands of a trial to its positions, and beyond its end.

    Args:
        response: (instants, m, joints, joints); see `coupled_response`. Zero after its end.
        rows: of a trial, n.
        held: rows after the trial through which its last command is held.
    """

    def __init__(self, response: Array, rows: int, held: int = 0) -> None:
        self._rows, self._all = rows, rows + held
        m = min(response.shape[1], self._all)
        self.size = 1 << (self._all + m - 1).bit_length()
        """Samples of the transforms, with room for the whole convolution: nothing wraps round."""
        self.spectrum: NDArray[np.complex128] = np.fft.rfft(response[:, :m], self.size, axis=1)
        """Of the responses, (instants, size/2 + 1, joints, joints)."""
        instants = np.linspace(0.0, rows - 1.0, len(response))
        nearness = [np.interp(np.arange(self._all), instants, one) for one in np.eye(len(response))]
        self._weights = np.array(nearness)[:, :, None]

    def positions(self, commands: Array) -> Array:
        """Return the change of the positions, (n + held, joints), for one of the commands, (n, joints)."""
        lasting = np.concatenate([commands, np.repeat(commands[-1:], self._all - self._rows, axis=0)])
        parts = np.fft.rfft(self._weights * lasting, self.size, axis=1)
        whole = np.matmul(self.spectrum, parts[..., None]).sum(axis=0)[..., 0]
        return np.fft.irfft(whole, self.size, axis=0)[: self._all]

    def transposed(self, positions: Array) -> Array:
        """Return the product of the map's transpose with (n + held, joints): (n, joints)."""
        whole = np.fft.rfft(positions, self.size, axis=0)[None, ..., None]
        parts = np.matmul(self.spectrum.conj().swapaxes(-1, -2), whole)[..., 0]
        lasting = (self._weights * np.fft.irfft(parts, self.size, axis=1)[:, : self._all]).sum(axis=0)
        commands: Array = lasting[: self._rows].copy()
        commands[-1] += lasting[self._rows :].sum(axis=0)
        return commands
