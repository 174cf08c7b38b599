"""What is done for old versions of pandas; whether they need it, ``make test-min`` tells."""

import numpy as np
import pandas as pd
import pytest

from edgewise.io import text as _old_pandas


@pytest.fixture(params=[True, False], ids=["old", "new"])
def is_old(request, monkeypatch):
    monkeypatch.setattr(pd, "__version__", "3.0.5" if request.param else "3.1.0")
    return request.param


def test_nul_can_be_seen(is_old, tmp_path):
    file = tmp_path / "x.csv"
    file.write_bytes("ä\n1.\x005\r\n".encode())
    with _old_pandas.readable(file, "utf-8") as source:
        assert source.read() == ("ä\n1.\ufffd5\r\n" if is_old else file.read_bytes())


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["9" * 400, "1e999", "-2.5"], [np.inf, np.inf, -2.5]),
        (["1e999", np.nan, "1"], [np.inf, np.nan, 1.0]),
        (["1_0", "2"], None),
        (["1", "two"], None),
        ([True, np.nan], None),
    ],
)
def test_numbers_beyond_all_floats(is_old, texts, numbers):
    frame = pd.DataFrame({"x": pd.Series(texts, dtype=object), "y": range(len(texts))})
    found = _old_pandas.with_large_numbers(frame)["x"]
    expected = numbers if is_old and numbers else texts
    pd.testing.assert_series_equal(found, pd.Series(expected, name="x", dtype=found.dtype))
    assert (found.dtype == object) == (expected is texts)


def test_decimals_are_read_exactly_where_pandas_would_not(is_old):
    assert _old_pandas.number_options() == ({"float_precision": "round_trip"} if is_old else {})
