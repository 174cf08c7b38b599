"""Samples from discrete Markov networks."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.parallel import as_generator
from edgewise._core.typing import AnyArray, RandomState
from edgewise.data.levels import code_type
from edgewise.data.markov import MarkovModel

SamplingMethod: TypeAlias = Literal["auto", "gibbs", "exact"]
SAMPLING_METHODS: Final[tuple[str, ...]] = get_args(SamplingMethod)

#: Up to this many states the whole distribution is written out.
MOST_STATES = 2**20


def sample_markov(
    model: MarkovModel,
    n_samples: int,
    *,
    method: SamplingMethod = "auto",
    burn_in: int = 100,
    thin: int = 1,
    rng: RandomState = None,
) -> AnyArray:
    """Draw rows from a Markov network.

    Parameters
    ----------
    model : MarkovModel
        The distribution.
    n_samples : int
        Number of rows.
    method : {"auto", "gibbs", "exact"}
        ``"exact"`` writes out the probabilities of all states, up to 2**20 of them, and draws
        independent rows. ``"gibbs"`` draws each variable in turn from its distribution given the
        others; its rows are a Markov chain, so that neighbouring rows are correlated. ``"auto"`` is
        exact where that is possible.
    burn_in : int
        Sweeps over all variables before the first row, from levels drawn evenly; for Gibbs only.
    thin : int
        Sweeps from one row to the next; for Gibbs only.
    rng : int, Generator or None
        Seed.

    Returns
    -------
    ndarray of shape (n_samples, n_features)
        Levels, of type uint8 if no variable has more than 256 of them, else uint16 or int32.

    References
    ----------
    S. Geman and D. Geman (1984), Stochastic relaxation, Gibbs distributions, and the Bayesian
    restoration of images, IEEE Transactions on Pattern Analysis and Machine Intelligence 6,
    721-741, doi:10.1109/TPAMI.1984.4767596.

    Examples
    --------
    >>> from edgewise.data import load_network, markov_model
    >>> model = markov_model(load_network("karate").adjacency, rng=0)
    >>> sample_markov(model, 1000, rng=1).shape
    (1000, 34)
    """
    if method not in SAMPLING_METHODS:
        raise InputError(
            f"Unknown method {method!r}. Known are {', '.join(map(repr, SAMPLING_METHODS))}."
        )
    if n_samples < 1:
        raise InputError(f"n_samples must be at least 1, got {n_samples}.")
    if burn_in < 0 or thin < 1:
        raise InputError(
            f"burn_in must be at least 0 and thin at least 1, got {burn_in} and {thin}."
        )
    generator = as_generator(rng)
    if method == "gibbs" or (method == "auto" and model.n_states > MOST_STATES):
        return _sample_gibbs(model, n_samples, burn_in, thin, generator)
    if model.n_states > MOST_STATES:
        raise InputError(
            f"The {model.n_features} variables have {model.n_states:.3g} states, too many to write "
            f'out (the most is {MOST_STATES}). Use method="gibbs".'
        )
    return _sample_exact(model, n_samples, generator)


def _sample_gibbs(
    model: MarkovModel,
    n_samples: int,
    burn_in: int,
    thin: int,
    generator: np.random.Generator,
) -> AnyArray:
    from edgewise.data.markov import gibbs

    tables = model.layout
    state = generator.integers(model.cardinalities)
    steps = tables.strides * state[tables.members]
    selected = tables.offsets[:-1] + np.add.reduceat(steps, tables.clique_start[:-1])
    rows = np.empty((n_samples, model.n_features), dtype=code_type(model.cardinalities))
    gibbs(
        model.cells,
        model.cardinalities,
        tables.variable_start,
        tables.variable_cliques,
        tables.variable_strides,
        state,
        selected,
        burn_in,
        thin,
        generator,
        rows,
    )
    return rows


def _sample_exact(model: MarkovModel, n_samples: int, generator: np.random.Generator) -> AnyArray:
    """Invert the distribution function over all states, in row-major order."""
    # Variables with one level get no axis, since numpy has only so many.
    levels = model.cardinalities
    log_weights = np.zeros(tuple(levels[levels > 1]))
    for clique, table in zip(model.cliques, model.potentials, strict=True):
        inside = np.isin(np.arange(model.n_features), clique)[levels > 1]
        log_weights += table.reshape(np.where(inside, levels[levels > 1], 1))
    cumulative = np.cumsum(np.exp(log_weights - log_weights.max()))
    drawn = np.searchsorted(
        cumulative[:-1], generator.random(n_samples) * cumulative[-1], side="right"
    )
    rows = np.zeros((n_samples, model.n_features), dtype=code_type(levels))
    for v in reversed(np.flatnonzero(levels > 1).tolist()):
        drawn, rows[:, v] = np.divmod(drawn, levels[v])
    return rows
