"""Tables of sound numbers that arithmetic may stumble over."""

import numpy as np

from tests.corpus.case import ALIKE, FITS, SAME, Collection, refused

HARD_NUMBERS = Collection()
#: Methods without a penalty on what makes two columns one, or that ask which of them comes first.
COPIES = {
    "NeighborhoodGraph": refused("'x0' and 'x2'", "up to scale"),
    "StabilitySelection": refused("'x0' and 'x2'", "up to scale"),
    "GaussianBayesNet": refused("'x0'", "'x2'", "collinear"),
    "BlanketBayesNet": refused("'x0'", "'x2'", "collinear"),
    "DirectedGraph": refused("'x0'", "'x2'", "collinear"),
    "FusedNetworkChange": refused("equal columns"),
    "MixedGraph": refused("'x0' and 'x2'", "up to scale"),
}


@HARD_NUMBERS.add(
    FITS,
    NeighborhoodGraph=refused("identical up to scale"),
    StabilitySelection=refused("identical up to scale"),
    MixedGraph=refused("identical up to scale"),
    GaussianBayesNet=refused("collinear"),
    BlanketBayesNet=refused("collinear"),
    DirectedGraph=refused("collinear"),
    groups=refused("1 row"),
    classes=refused("at least 2 rows"),
    responses=refused("rows"),
    covariates=refused("rows"),
    GraphTree=FITS,
    GraphTree_X=FITS,
)
def two_rows(values):
    return values[:2]


@HARD_NUMBERS.add(
    FITS,
    BlanketBayesNet=refused("more than 3 rows"),
    DirectedGraph=refused("more than 3 rows"),
    StabilitySelection=refused("3 rows"),
    groups=refused("1 row"),
    classes=refused("at least 2 rows"),
    KernelGraph=refused("3 rows"),
    KernelGraph_X=refused("3 rows"),
    ConditionalGraph_X=refused("3 rows"),
)
def three_rows(values):
    return values[:3]


@HARD_NUMBERS.add(FITS, responses=refused("one column"))
def one_column(values):
    return values[:, :1]


@HARD_NUMBERS.add(FITS)
def two_columns(values):
    return values[:, :2]


@HARD_NUMBERS.add(
    FITS,
    FusedNetworkChange=refused("fewer rows"),
    KernelGraph=refused("6 rows"),
    KernelGraph_X=refused("6 rows"),
    ConditionalGraph_X=refused("6 rows"),
    levels=refused("measurements"),
)
def far_more_columns_than_rows(values):
    rng = np.random.default_rng(3)
    return np.round(64 * rng.normal(size=(6, 30))) / 64


@HARD_NUMBERS.add(FITS, **COPIES)
def a_column_negated(values):
    values[:, 2] = -values[:, 0]
    return values


@HARD_NUMBERS.add(FITS, **COPIES)
def a_column_in_other_units(values):
    values[:, 2] = 2.54 * values[:, 0]
    return values


@HARD_NUMBERS.add(FITS, **COPIES)
def a_column_twice_but_for_a_trace(values):
    values[:, 2] = values[:, 0] + 1e-9 * values[:, 1]
    return values


@HARD_NUMBERS.add(
    FITS,
    GaussianBayesNet=refused("collinear"),
    BlanketBayesNet=refused("collinear"),
    DirectedGraph=refused("collinear"),
    FusedNetworkChange=refused("perfectly"),
)
def a_column_that_is_the_sum_of_others(values):
    values[:, 3] = values[:, 0] + values[:, 1]
    return values


@HARD_NUMBERS.add(
    FITS,
    GaussianBayesNet=refused("collinear"),
    BlanketBayesNet=refused("collinear"),
    DirectedGraph=refused("collinear"),
    levels=refused("measurements"),
)
def shares_that_add_up_to_one(values):
    share = np.exp(values / 4)
    return share / share.sum(axis=1, keepdims=True)


@HARD_NUMBERS.add(
    FITS,
    SeparateNetworkChange=refused("'x1'", "constant"),
    JointGraphs=refused("'x1'", "constant"),
)
def nearly_constant_column(values):
    values[:, 1] = 1.0
    values[0, 1] = 2.0
    return values


@HARD_NUMBERS.add(FITS)
def one_outlier(values):
    values[0, 1] = 1e8
    return values


@HARD_NUMBERS.add(FITS)
def every_row_ten_times(values):
    return np.tile(values, (10, 1))


@HARD_NUMBERS.add(
    refused("one value"), covariates=FITS, levels=FITS, responses=refused("y1", "one value")
)
def many_columns_of_which_one_varies(values):
    return np.column_stack([values[:, 0], np.zeros((len(values), 99))])


@HARD_NUMBERS.add(ALIKE)
def far_from_zero(values):
    return values + 2.0**30


@HARD_NUMBERS.add(FITS)
def very_far_from_zero(values):
    return values + 2.0**45


@HARD_NUMBERS.add(ALIKE)
def tiny_numbers(values):
    return values * 2.0**-40


@HARD_NUMBERS.add(ALIKE)
def large_numbers(values):
    return values * 2.0**40


@HARD_NUMBERS.add(ALIKE)
def huge_numbers(values):
    return values * 2.0**400


@HARD_NUMBERS.add(ALIKE)
def vanishing_numbers(values):
    return values * 2.0**-400


@HARD_NUMBERS.add(refused("vanish"), levels=SAME)
def numbers_whose_squares_vanish(values):
    return values * 2.0**-600


@HARD_NUMBERS.add(refused("vanish"), levels=SAME)
def subnormal_numbers(values):
    return values * 64 * 5e-324


@HARD_NUMBERS.add(ALIKE, LocallyConstantGraph=FITS)
def scales_from_1e_minus_12_to_1e12(values):
    return values * 10.0 ** np.linspace(-12, 12, values.shape[1])


@HARD_NUMBERS.add(refused("'x0'", "2**53"))
def largest_64_bit_integers(values):
    return np.iinfo(np.int64).max - (64 * np.abs(values)).astype(np.int64)


@HARD_NUMBERS.add(FITS)
def largest_unsigned_integers(values):
    top = np.iinfo(np.uint64).max
    return np.where(values > 0, top, 0).astype(np.uint64)


@HARD_NUMBERS.add(ALIKE)
def integers_beyond_64_bits(values):
    return np.array([[int(x * 64) * 10**30 for x in row] for row in values.tolist()], dtype=object)


@HARD_NUMBERS.add(refused("'x0'", "308 digits"))
def integers_beyond_floats(values):
    return np.array([[int(x * 64) * 10**400 for x in row] for row in values.tolist()], dtype=object)


@HARD_NUMBERS.add(FITS)
def booleans(values):
    return values > np.median(values, axis=0)


@HARD_NUMBERS.add(FITS)
def minus_zeros(values):
    values[np.abs(values) < 0.5] = -0.0
    return values


@HARD_NUMBERS.add(FITS)
def mostly_zeros(values):
    return np.where(np.abs(values) > 1.2, values, 0.0)
