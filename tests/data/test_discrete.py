import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from edgewise import DataWarning, InputError
from edgewise.data.levels import DiscreteTable
from tests.messages import raises


def decoded(table):
    """The entries of a table, looked up in its levels."""
    return [[table.levels[k][code] for k, code in enumerate(row)] for row in table.codes.tolist()]


class TestLevels:
    def test_of_every_kind_of_column(self):
        frame = pd.DataFrame(
            {
                "text": ["b", "a", "b"],
                "gaps": [7, -2, 40],
                "flag": [True, True, True],
                "size": pd.Categorical(["M", "S", "M"], categories=["S", "M", "L"]),
                "half": [0.5, 1.5, 0.5],
                "nullable": pd.array([3, 1, 3], dtype="Int64"),
                "maybe": pd.array([True, False, True], dtype="boolean"),
                "string": pd.array(["u", "v", "u"], dtype="string"),
            }
        )
        table = DiscreteTable.from_input(frame)
        assert table.names == tuple(frame.columns)
        assert table.levels == (
            ("a", "b"),
            (-2, 7, 40),
            (False, True),
            ("S", "M", "L"),
            (0.5, 1.5),
            (1, 3),
            (False, True),
            ("u", "v"),
        )
        assert table.cardinalities.tolist() == [2, 3, 2, 3, 2, 2, 2, 2]
        assert table.codes.dtype == np.uint8
        assert table.codes.flags.c_contiguous
        assert decoded(table) == frame.to_numpy(dtype=object).tolist()
        assert table.treatment == ()

    def test_polars_enum_declares_its_levels(self):
        frame = pl.DataFrame(
            {
                "size": pl.Series(["M", "S"], dtype=pl.Enum(["S", "M", "L"])),
                "text": ["x", "y"],
                "flag": [False, True],
            }
        )
        table = DiscreteTable.from_input(frame)
        assert table.levels == (("S", "M", "L"), ("x", "y"), (False, True))
        assert decoded(table) == [["M", "x", False], ["S", "y", True]]

    def test_arrays_of_text_and_of_objects(self):
        text = DiscreteTable.from_input(np.array([["a", "x"], ["b", "x"]]))
        assert text.levels == (("a", "b"), ("x",))
        assert text.names == ("x0", "x1")
        mixed = DiscreteTable.from_input(np.array([["a", 3, True], ["b", 1, False]], dtype=object))
        assert mixed.levels == (("a", "b"), (1, 3), (False, True))

    def test_many_levels_need_larger_codes(self):
        column = np.arange(300).repeat(5).reshape(-1, 1)
        table = DiscreteTable.from_input(column)
        assert table.codes.dtype == np.uint16
        np.testing.assert_array_equal(table.codes, column)

    @settings(max_examples=20, deadline=None)
    @given(
        st.lists(
            st.tuples(st.integers(-3, 3), st.booleans(), st.sampled_from(["p", "q", "r"])),
            min_size=1,
            max_size=30,
        )
    )
    def test_codes_and_levels_give_back_the_entries(self, rows):
        frame = pd.DataFrame(rows, columns=["a", "b", "c"])
        table = DiscreteTable.from_input(frame)
        assert decoded(table) == [list(row) for row in rows]
        np.testing.assert_array_equal(table.recode(frame), table.codes)

    @pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int8, np.int64, np.float64])
    def test_type_of_whole_numbers_makes_no_difference(self, dtype):
        X = np.array([[0, 5], [2, 5], [2, 9]])
        table = DiscreteTable.from_input(X.astype(dtype))
        assert table.levels == ((0, 2), (5, 9))
        assert table.codes.tolist() == [[0, 0], [1, 0], [1, 1]]

    @pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
    def test_level_numbers_without_gaps_stay_where_they_are(self, tmp_path, dtype):
        mapped = np.memmap(tmp_path / "codes", dtype=dtype, mode="w+", shape=(70_000, 2))
        mapped[::2, 0] = 1
        mapped[::3, 1] = 1
        mapped[-1, 1] = 2
        table = DiscreteTable.from_input(mapped)
        assert table.codes is mapped
        assert table.levels == ((0, 1), (0, 1, 2))

    def test_declared_cardinalities(self):
        X = [[0, 3], [1, 1]]
        for given_as in (np.array(X), np.array(X, dtype=np.uint8), pd.DataFrame(X), X):
            table = DiscreteTable.from_input(given_as, cardinalities=[2, 5])
            assert table.levels == ((0, 1), (0, 1, 2, 3, 4))
            assert table.codes.tolist() == X
        assert DiscreteTable.from_input(np.array(X), cardinalities=4).cardinalities.tolist() == [
            4,
            4,
        ]


class TestMissing:
    frame = pd.DataFrame({"a": ["x", None, "y", "x"], "b": [1.0, 2.0, np.nan, 1.0]})

    def test_is_refused(self):
        message = (
            r"2 values are missing \(NaN\), in columns 'a' and 'b' and 2 rows.*missing=\"drop\""
        )
        with pytest.raises(InputError, match=message):
            DiscreteTable.from_input(self.frame)

    def test_rows_are_dropped_and_counted(self):
        table = DiscreteTable.from_input(self.frame, missing="drop")
        assert decoded(table) == [["x", 1], ["x", 1]]
        assert table.treatment == ('missing="drop": 2 rows with missing values left out, 2 used',)
        codes = self.frame[["b"]] - 1
        table = DiscreteTable.from_input(codes, missing="drop", cardinalities=3)
        assert table.codes.tolist() == [[0], [1], [0]]
        assert "1 rows" in table.treatment[0]

    def test_masked_entries_are_missing(self):
        masked = np.ma.masked_array(np.array([[0], [1]], dtype=np.uint8), [[True], [False]])
        with raises(InputError, code="levels_missing_values", n_gone=1, n_gappy=1):
            DiscreteTable.from_input(masked)

    def test_nothing_may_be_left(self):
        with raises(InputError, code="no_complete_row_of_levels"):
            DiscreteTable.from_input(self.frame[1:3], missing="drop")

    def test_unknown_rule(self):
        with raises(InputError, code="levels_missing_option", missing="fill"):
            DiscreteTable.from_input(self.frame, missing="fill")


class TestRefusals:
    def test_measurements_with_the_remedy(self):
        frame = pd.DataFrame({"height": np.linspace(1.5, 2.1, 40), "sex": ["f", "m"] * 20})
        with raises(InputError, code="levels_continuous", continuous=["height"]):
            DiscreteTable.from_input(frame)

    def test_few_fractions_are_levels(self):
        half = np.tile([0.5, 1.0, 1.5], 20).reshape(-1, 1)
        assert DiscreteTable.from_input(half).levels == ((0.5, 1.0, 1.5),)
        with raises(InputError, code="levels_continuous", continuous=["x0"]):
            DiscreteTable.from_input(half[:10])

    def test_infinite_values(self):
        with raises(InputError, code="levels_infinite", infinite=["x0"]):
            DiscreteTable.from_input(np.array([[1.0], [np.inf]]))

    @pytest.mark.parametrize(
        "column",
        [np.arange(60), [f"id{k}" for k in range(60)], np.arange(60).astype(np.uint8)],
        ids=["numbers", "text", "bytes"],
    )
    def test_labels_of_rows_are_warned_of(self, column):
        with pytest.warns(DataWarning, match=r"x0 \(60 levels\).*few rows per level, of 60"):
            table = DiscreteTable.from_input(np.asarray(column).reshape(-1, 1))
        assert table.cardinalities.tolist() == [60]

    @pytest.mark.parametrize(
        ("X", "message"),
        [
            ([["a", "b"]], "cardinalities_need_codes"),
            ([[0.5, 1.0]], "cardinalities_need_codes"),
            ([[1.0, np.inf]], "cardinalities_need_codes"),
            ([[0, 2]], "codes_out_of_range"),
            (np.array([[0, 2]], dtype=np.uint8), "codes_out_of_range"),
            ([[0, -1]], "codes_out_of_range"),
        ],
    )
    def test_cardinalities_are_for_level_numbers(self, X, message):
        with raises(InputError, code=message):
            DiscreteTable.from_input(X, cardinalities=2)

    @pytest.mark.parametrize("cardinalities", [[2], 0, 2.5, [2, 2, 2]])
    def test_bad_cardinalities(self, cardinalities):
        with pytest.raises(InputError, match=r"cardinalities"):
            DiscreteTable.from_input([[0, 1]], cardinalities=cardinalities)

    def test_empty_tables(self):
        with raises(InputError, code="empty_table", n_samples=0, n_features=2):
            DiscreteTable.from_input(np.empty((0, 2), dtype=np.uint8))


class TestRecode:
    table = DiscreteTable.from_input(
        pd.DataFrame({"grade": ["b", "a", "c"], "n": [10, 20, 10], "flag": [True, False, True]})
    )

    def test_by_the_levels_of_the_first_table(self):
        other = pd.DataFrame({"grade": ["c", "c"], "n": [20, 20], "flag": [False, False]})
        assert self.table.recode(other).tolist() == [[2, 1, 0], [2, 1, 0]]

    def test_equal_values_of_another_type(self):
        other = pd.DataFrame({"grade": ["a"], "n": [20.0], "flag": [1]})
        assert self.table.recode(other).tolist() == [[0, 1, 1]]
        X = np.array([[0, 2], [2, 4]])
        table = DiscreteTable.from_input(X)
        np.testing.assert_array_equal(table.recode(X.astype(np.uint8)), [[0, 0], [1, 1]])

    def test_declared_levels_may_turn_up_later(self):
        kind = pd.CategoricalDtype(["S", "M", "L"])
        table = DiscreteTable.from_input(pd.DataFrame({"size": ["S", "M"]}, dtype=kind))
        assert table.recode(pd.DataFrame({"size": ["L"]})).tolist() == [[2]]
        unused = pd.DataFrame({"size": ["S"]}, dtype=pd.CategoricalDtype(["S", "XXL"]))
        assert table.recode(unused).tolist() == [[0]]

    def test_unknown_levels_are_named(self):
        other = pd.DataFrame({"grade": ["a", "z"], "n": [10, 10], "flag": [True, True]})
        with raises(InputError, code="unknown_level", name="grade", unknown=["z"]):
            self.table.recode(other)

    def test_few_rows_of_many_fractions(self):
        half = np.tile(np.arange(8) + 0.5, 10).reshape(-1, 1)
        table = DiscreteTable.from_input(half)
        assert table.recode(half[:8]).ravel().tolist() == list(range(8))

    def test_labels_are_not_warned_of_again(self):
        X = np.tile(np.arange(30), 5).reshape(-1, 1)
        assert DiscreteTable.from_input(X).recode(X[:30]).ravel().tolist() == list(range(30))

    def test_missing(self):
        other = pd.DataFrame({"grade": ["a", None], "n": [10, 10], "flag": [True, True]})
        with raises(InputError, code="levels_missing_values", n_gone=1, n_gappy=1):
            self.table.recode(other)
        assert self.table.recode(other, missing="drop").tolist() == [[0, 0, 1]]

    def test_other_number_of_columns(self):
        with raises(InputError, code="levels_column_count", n_levels=2, n_levels2=3):
            self.table.recode(np.zeros((2, 2), dtype=int))
