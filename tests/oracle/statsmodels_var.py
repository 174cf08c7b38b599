"""Fit vector autoregressions by statsmodels, and write what its tests compare with.

``python statsmodels_var.py`` with statsmodels (0.15.0 then) writes ``statsmodels_var.json``: growth
in percent of columns of its table ``macrodata`` (public domain, United States 1959 to 2009), and
coefficients, standard errors and residual covariances of one and of two lags.
"""

import json
from pathlib import Path

import numpy as np


def main() -> None:
    """Fit and write."""
    import statsmodels
    from statsmodels.datasets import macrodata
    from statsmodels.tsa.api import VAR

    names = ["realgdp", "realcons", "realinv"]
    table = macrodata.load_pandas().data
    rows = (100 * np.log(table[names]).diff().iloc[1:]).round(4).to_numpy()
    found = {"statsmodels": statsmodels.__version__, "names": names, "rows": rows.tolist()}
    for lags in (1, 2):
        fit = VAR(rows).fit(lags)
        # One block per lag, from the past in rows to the present in columns.
        found[str(lags)] = {
            "coef": [block.T.tolist() for block in fit.coefs],
            "pvalues": fit.pvalues[1:].reshape(lags, 3, 3).tolist(),
            "errors": fit.bse[1:].reshape(lags, 3, 3).tolist(),
            "covariance": (fit.resid.T @ fit.resid / len(fit.resid)).tolist(),
        }
    Path(__file__).with_suffix(".json").write_text(json.dumps(found) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
