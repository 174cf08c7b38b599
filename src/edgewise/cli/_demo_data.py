"""The bundled tables that the demo asks, as its questions need them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from edgewise.cli._labels import Groups

if TYPE_CHECKING:
    import pandas as pd

WEATHER: Final = {
    "TMP": "temperature",
    "TMN": "coldest hour",
    "TMX": "warmest hour",
    "DEW": "dew point",
    "RH": "humidity",
    "PRS": "pressure",
    "IR": "infrared sky",
    "GLO": "sunlight",
    "DIR": "direct sun",
    "DIF": "diffuse light",
    "WND": "wind",
    "CLD": "cloud",
    "OPQ": "opaque cloud",
    "VIS": "visibility",
    "PWAT": "water in air",
    "AOD": "aerosol",
}
DAYS_APART: Final = 7
DIGIT: Final = 3
SIDE: Final = 8


def weather_anomalies() -> tuple[pd.DataFrame, dict[str, Any]]:
    """Daily weather without the season, and which table it is."""
    from edgewise.data import load_climate

    climate = load_climate(unit_variance=False)
    is_kept = climate.covariates["doy"].to_numpy() % DAYS_APART == 0
    frame = climate.responses[list(WEATHER)][is_kept].reset_index(drop=True).rename(columns=WEATHER)
    return frame, fingerprint(frame, climate.name, table_digest(climate.name))


def digit_images() -> tuple[pd.DataFrame, dict[str, Any]]:
    """Shades of the pixels of one digit, one image per row, and which table it is.

    The shades are counts from 0 to 16. Even noise on [0, 1) turns them into measurements, without
    which a Gaussian would see more certainty in them than there is.
    """
    import hashlib

    import numpy as np
    import pandas as pd
    from sklearn.datasets import load_digits

    images, digit = load_digits(return_X_y=True)
    shades = images[digit == DIGIT]
    noise = np.random.default_rng(0).uniform(size=shades.shape)
    noise[:, np.ptp(shades, axis=0) == 0] = 0.0
    names = [f"r{row}c{column}" for row in range(SIDE) for column in range(SIDE)]
    frame = pd.DataFrame(shades + noise, columns=names)
    name = "digits of scikit-learn"
    return frame, fingerprint(frame, name, hashlib.sha256(images.tobytes()).hexdigest())


def senate_votes() -> tuple[pd.DataFrame, Groups, dict[str, Any]]:
    """Votes of the senators, with the year of each vote, and which table it is."""
    import hashlib

    import numpy as np
    import pandas as pd

    from edgewise.data import load_senate

    senate = load_senate()
    y = pd.Series(pd.Categorical(senate.years), name="year")
    first, second = (str(year) for year in y.cat.categories)
    before, after = np.bincount(y.cat.codes).tolist()
    groups = Groups(y=y, names=(first, second), counts=(before, after))
    digest = hashlib.sha256(senate.votes.to_numpy(dtype=np.float64).tobytes()).hexdigest()
    return senate.votes, groups, fingerprint(senate.votes, "senate-votes", digest)


def tumour_nuclei() -> tuple[pd.DataFrame, dict[str, Any]]:
    """Means over the cell nuclei of each tumour, in logarithms, and which table it is."""
    import hashlib

    import numpy as np
    from sklearn.datasets import load_breast_cancer

    table = load_breast_cancer(as_frame=True).data
    means = table[[name for name in table.columns if name.startswith("mean ")]]
    # Some tumours have no concave nucleus at all.
    frame = np.log(means + 1e-3).rename(columns=lambda name: name.removeprefix("mean "))
    digest = hashlib.sha256(table.to_numpy(dtype=np.float64).tobytes()).hexdigest()
    return frame, fingerprint(frame, "breast cancer of scikit-learn", digest)


def fingerprint(frame: pd.DataFrame, name: str, digest: str) -> dict[str, Any]:
    return {
        "bundled": name,
        "sha256": digest,
        "n_samples": len(frame),
        "n_features": len(frame.columns),
        "names": list(frame.columns),
    }


def table_digest(name: str) -> str:
    import hashlib

    import numpy as np

    from edgewise.data import load_table

    table = load_table(name).frame
    return hashlib.sha256(table.to_numpy(dtype=np.float64).tobytes()).hexdigest()
