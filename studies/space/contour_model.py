"""Nine variables along an open contour."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

import numpy as np

from edgewise import InputError
from edgewise.data import GaussianModel
from edgewise.data.simulate.space import Block, joined_boxes

ContourKind: TypeAlias = Literal["two-blocks", "one-block"]
CONTOUR_KINDS: Final[tuple[str, ...]] = get_args(ContourKind)

#: Sites of the contour are numbered from 0.
_CONTOURS: dict[str, list[Block]] = {
    "two-blocks": [
        Block(first=[0, 1], second=[5, 6], weight=-0.4),
        Block(first=[3, 4], second=[7, 8], weight=0.4),
        Block(first=[0], second=[3], weight=0.25),
    ],
    "one-block": [
        Block(first=[0, 1, 2], second=[5, 6, 7], weight=-0.3),
        Block(first=[4], second=[8], weight=0.3),
    ],
}


def make_contour_model(kind: ContourKind = "two-blocks") -> GaussianModel:
    """Nine variables along an open contour, with a precision that is locally constant.

    ``"two-blocks"`` has the precision -0.4 between sites 0, 1 and sites 5, 6, the precision 0.4
    between sites 3, 4 and sites 7, 8, a lone entry of 0.25 between sites 0 and 3, and site 2 by
    itself. ``"one-block"`` has -0.3 between sites 0, 1, 2 and sites 5, 6, 7, a lone entry of 0.3
    between sites 4 and 8, and site 3 by itself. The neighbourhood is ``"chain"``.

    Parameters
    ----------
    kind : {"two-blocks", "one-block"}
        Which of the two.

    Returns
    -------
    GaussianModel
        The precision has a unit diagonal; the variances differ.

    References
    ----------
    J. Honorio, L. Ortiz, D. Samaras, N. Paragios and R. Goldstein (2009), Sparse and locally
    constant Gaussian graphical models, Advances in Neural Information Processing Systems 22,
    who study nine variables on an open contour; the values here are ours.

    Examples
    --------
    >>> make_contour_model().precision[0]
    array([ 1.  ,  0.  ,  0.  ,  0.25,  0.  , -0.4 , -0.4 ,  0.  ,  0.  ])
    """
    if kind not in CONTOUR_KINDS:
        raise InputError(f"Unknown kind of contour {kind!r}. Known are {', '.join(CONTOUR_KINDS)}.")
    return GaussianModel.from_precision(np.eye(9) + joined_boxes(_CONTOURS[kind], 9))
