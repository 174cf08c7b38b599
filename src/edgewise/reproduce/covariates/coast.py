"""How far a place in the United States is from the sea, to some twenty kilometres."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from edgewise._core.typing import FloatArray

EARTH: Final = 6371.0
#: The Pacific coast with Puget Sound, and that of the Gulf and the Atlantic: latitude, longitude.
COASTS: Final = (
    (
        (47.1, -122.6), (47.9, -122.4), (48.3, -123.2), (48.4, -124.7), (46.2, -124.0),
        (44.6, -124.1), (42.8, -124.5), (41.7, -124.2), (40.4, -124.4), (39.0, -123.7),
        (38.0, -123.0), (37.5, -122.5), (36.6, -121.9), (34.6, -120.6), (34.1, -119.2),
        (33.9, -118.4), (32.5, -117.1),
    ),
    (
        (26.0, -97.2), (27.8, -97.1), (29.3, -94.8), (29.7, -93.3), (29.2, -90.5),
        (30.3, -88.5), (30.3, -86.5), (29.7, -85.0), (29.9, -83.8), (28.8, -82.7),
        (27.6, -82.7), (26.4, -82.0), (25.2, -81.1), (24.6, -81.8), (25.1, -80.4),
        (25.8, -80.1), (26.7, -80.0), (28.4, -80.6), (30.3, -81.4), (32.0, -80.9),
        (33.8, -78.7), (35.2, -75.6), (36.9, -76.0), (38.5, -75.1), (39.4, -74.4),
        (40.6, -73.8), (41.2, -71.8), (41.7, -70.0), (42.4, -71.0), (43.6, -70.2),
        (44.4, -68.2), (44.8, -67.0),
    ),
)  # fmt: skip
#: Points on each stretch between two of those above.
N_BETWEEN: Final = 20


def kilometers(here: ArrayLike, there: ArrayLike) -> FloatArray:
    """Great-circle distance from one place to others, each a latitude and a longitude.

    Examples
    --------
    >>> kilometers([40.65, -73.8], [[42.37, -71.02]]).round().tolist()
    [300.0]
    """
    a, b = np.radians(np.asarray(here, dtype=np.float64)), np.radians(np.asarray(there))
    half = np.sin((b - a) / 2.0) ** 2
    chord = half[..., 0] + np.cos(a[0]) * np.cos(b[..., 0]) * half[..., 1]
    return np.asarray(2.0 * EARTH * np.arcsin(np.sqrt(chord)))


def kilometers_to_sea(lat: float, lon: float) -> float:
    """Distance of a place from the sea.

    Examples
    --------
    >>> kilometers_to_sea(42.37, -71.02) < 20 < 1000 < kilometers_to_sea(41.15, -104.8)
    True
    """
    nearest = np.inf
    for coast in COASTS:
        ends = np.array(coast)
        shares = np.linspace(0.0, 1.0, N_BETWEEN)[:, None, None]
        points = ends[:-1] + shares * (ends[1:] - ends[:-1])
        nearest = min(nearest, float(kilometers([lat, lon], points.reshape(-1, 2)).min()))
    return nearest
