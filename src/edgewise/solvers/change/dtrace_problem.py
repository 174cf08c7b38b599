r"""The D-trace problem: its products, its certificate, and where it has no minimum."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from edgewise._core.errors import InputError, SolverError
from edgewise._core.jit import kernel
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers.linalg.kernels import add_rows, dot, soft_threshold, sum_error

SQUARE_ROOT_HALF = np.sqrt(0.5)
#: Rounding of a sum of two numbers, as a share of it.
EPSILON = float(np.finfo(np.float64).eps)


@kernel
def list_entries(
    Delta: FloatArray, residual: FloatArray, ridge: float, alpha: float, is_diagonal_free: bool
) -> tuple[IntArray, IntArray, IntArray]:
    """List the entries that are not 0, or that a residual above ``alpha`` pulls away from 0.

    Returns ``starts``, ``columns`` and ``mates``. A free diagonal is always listed.
    """
    d = Delta.shape[0]
    starts = np.zeros(d + 1, np.int64)
    for i in range(d):
        count = 0
        for j in range(d):
            pull = abs(residual[i, j] - ridge * Delta[i, j])
            count += Delta[i, j] != 0.0 or pull > alpha or (i == j and is_diagonal_free)
        starts[i + 1] = starts[i] + count
    columns = np.empty(starts[d], np.int64)
    mates = np.empty(starts[d], np.int64)
    seen = np.zeros(d, np.int64)
    place = 0
    for i in range(d):
        for j in range(d):
            pull = abs(residual[i, j] - ridge * Delta[i, j])
            if Delta[i, j] != 0.0 or pull > alpha or (i == j and is_diagonal_free):
                columns[place] = j
                # Rows come in order, so this is the next entry of row j to find its mate.
                mates[place] = starts[j] + seen[j]
                seen[j] += 1
                place += 1
    return starts, columns, mates


@kernel
def descend(
    A: FloatArray,
    B: FloatArray,
    ridge: float,
    thresholds: tuple[float, float],
    starts: IntArray,
    columns: IntArray,
    mates: IntArray,
    values: FloatArray,
) -> float:
    r"""Minimise over each listed entry in turn, in place; return the fall of the objective.

    An entry and its mirror image become
    :math:`\mathrm{soft}(r_{ij} + h_{ij} \Delta_{ij}, t) / h_{ij}` with :math:`r` the residual less
    :math:`\mathrm{ridge}\,\Delta`, :math:`h` the curvature and :math:`t` one of ``thresholds``,
    off and on the diagonal. Column j of :math:`\Delta B` and of :math:`\Delta A` is all that the
    entries of column j need, and each step changes two entries of it.
    """
    d = A.shape[0]
    by_B = np.empty(d)
    by_A = np.empty(d)
    fall = 0.0
    for j in range(d):
        if starts[j] == starts[j + 1] or columns[starts[j]] > j:
            continue
        _multiply_column(A[j], B[j], starts, columns, values, by_A, by_B)
        for place in range(starts[j], starts[j + 1]):
            i = columns[place]
            if i > j:
                break
            x = values[place]
            h = entry_curvature(A, B, i, j) + ridge
            if h <= 0.0:
                continue
            pull = B[i, j] - A[i, j] - 0.5 * (dot(A[i], by_B) + dot(B[i], by_A)) - ridge * x
            value = soft_threshold(pull + h * x, thresholds[int(i == j)]) / h
            step = value - x
            if step == 0.0:
                continue
            values[place] = value
            values[mates[place]] = value
            fall += 0.5 * h * step * step * (1.0 if i == j else 2.0)
            by_B[i] += step * B[j, j]
            by_A[i] += step * A[j, j]
            if i != j:
                by_B[j] += step * B[i, j]
                by_A[j] += step * A[i, j]
    return fall


@kernel
def entry_curvature(A: FloatArray, B: FloatArray, i: int, j: int) -> float:
    """Second derivative of the loss along an entry and its mirror image, counted per entry."""
    if i == j:
        return float(A[i, i] * B[i, i])
    return float(0.5 * (A[i, i] * B[j, j] + A[j, j] * B[i, i]) + A[i, j] * B[i, j])


@kernel
def _multiply_column(
    a: FloatArray,
    b: FloatArray,
    starts: IntArray,
    columns: IntArray,
    values: FloatArray,
    by_A: FloatArray,
    by_B: FloatArray,
) -> None:
    """Multiply the listed matrix by a column of A and one of B."""
    for i in range(a.size):
        in_A = 0.0
        in_B = 0.0
        for place in range(starts[i], starts[i + 1]):
            in_A += values[place] * a[columns[place]]
            in_B += values[place] * b[columns[place]]
        by_A[i] = in_A
        by_B[i] = in_B


@kernel
def curve(
    A: FloatArray,
    B: FloatArray,
    starts: IntArray,
    columns: IntArray,
    mates: IntArray,
    values: FloatArray,
    products: FloatArray,
    out: FloatArray,
) -> None:
    r"""Write the listed entries of :math:`(A \Delta B + B \Delta A) / 2` to ``out``.

    ``products`` is memory of shape (2, d, d), for the transposes of both :math:`\Delta B` and
    :math:`\Delta A`: the rest are inner products of rows.
    """
    d = A.shape[0]
    row = np.empty(d)
    for i in range(d):
        first = starts[i]
        count = starts[i + 1] - first
        add_rows(B, columns[first:], values[first:], count, row)
        for j in range(d):
            products[0, j, i] = row[j]
        add_rows(A, columns[first:], values[first:], count, row)
        for j in range(d):
            products[1, j, i] = row[j]
    for j in range(d):
        for place in range(starts[j], starts[j + 1]):
            i = columns[place]
            if i > j:
                break
            out[place] = 0.5 * (dot(A[i], products[0, j]) + dot(B[i], products[1, j]))
            out[mates[place]] = out[place]


@kernel
def gram(
    A: FloatArray, B: FloatArray, ridge: float, first: IntArray, second: IntArray, out: FloatArray
) -> None:
    r"""Write the curvature of loss and ridge between pairs of variables to ``out``.

    Pairs (i, j), i <= j, stand for :math:`(e_i e_j' + e_j e_i') / \sqrt 2`, or for
    :math:`e_i e_i'`: an orthonormal basis of symmetric matrices.
    """
    for a in range(first.size):
        i = first[a]
        j = second[a]
        for b in range(a + 1):
            k = first[b]
            m = second[b]
            value = A[i, k] * B[j, m] + A[j, m] * B[i, k] + A[i, m] * B[j, k] + A[j, k] * B[i, m]
            if i == j:
                value *= SQUARE_ROOT_HALF
            if k == m:
                value *= SQUARE_ROOT_HALF
            out[a, b] = 0.5 * value
            out[b, a] = out[a, b]
        out[a, a] += ridge


@kernel
def list_curvatures(
    A: FloatArray, B: FloatArray, starts: IntArray, columns: IntArray, out: FloatArray
) -> None:
    """Write the curvature of every listed entry to ``out``."""
    for i in range(A.shape[0]):
        for place in range(starts[i], starts[i + 1]):
            out[place] = entry_curvature(A, B, i, columns[place])


@kernel
def measure(
    Delta: FloatArray, residual: FloatArray, is_diagonal_free: bool
) -> tuple[float, float, float]:
    """Return the penalised sum of sizes, the inner product and the largest penalised residual."""
    d = Delta.shape[0]
    size = 0.0
    inner = 0.0
    largest = 0.0
    for i in range(d):
        for j in range(d):
            inner += Delta[i, j] * residual[i, j]
            if i != j or not is_diagonal_free:
                size += abs(Delta[i, j])
                largest = max(largest, abs(residual[i, j]))
    return size, inner, largest


@kernel
def weigh(Delta: FloatArray, a: FloatArray, b: FloatArray) -> float:
    r"""Return :math:`\sum_{ij} a_i |\Delta_{ij}| b_j`."""
    total = 0.0
    for i in range(a.size):
        for j in range(b.size):
            total += a[i] * abs(Delta[i, j]) * b[j]
    return total


@kernel
def entry_error(a: FloatArray, b: FloatArray, share: float, i: int, j: int) -> float:
    """Bound the rounding error of an entry of both products that make a residual."""
    return float(0.5 * share * (a[i] * b[j] + b[i] * a[j]))


@kernel
def largest_residual(
    residual: FloatArray, a: FloatArray, b: FloatArray, share: float, is_diagonal_free: bool
) -> float:
    """Return the largest size that a penalised residual has, or has lost to rounding."""
    largest = 0.0
    for i in range(a.size):
        for j in range(a.size):
            if i != j or not is_diagonal_free:
                size = abs(residual[i, j]) * (1.0 + EPSILON) + entry_error(a, b, share, i, j)
                largest = max(largest, size)
    return largest


@kernel
def conjugate_terms(
    Delta: FloatArray,
    residual: FloatArray,
    errors: tuple[FloatArray, FloatArray, float],
    ridge: float,
    alpha: float,
    scale: float,
    is_diagonal_free: bool,
) -> float:
    r"""Add up what each entry leaves open between the objective and its bound.

    With penalty :math:`g(x) = \alpha |x| + \mathrm{ridge}\, x^2 / 2`, the terms are
    :math:`g(x) + g^*(y) - x y \ge 0` at y = ``scale`` times the residual. With :math:`x^*` the
    maximiser of :math:`x y - g(x)` and z the y clipped to alpha, each is
    :math:`\mathrm{ridge}\, (x - x^*)^2 / 2 + \alpha |x| - x z`, in which nothing large cancels;
    and an error e of y changes it by :math:`|x - x^*| e + e^2 / (2\, \mathrm{ridge})` at most.
    Without a ridge the caller sees to it that y is at most alpha, and counts what it is on a free
    diagonal, where it should be 0.
    """
    a, b, share = errors
    total = 0.0
    for i in range(a.size):
        for j in range(a.size):
            x = Delta[i, j]
            y = scale * residual[i, j]
            is_free = i == j and is_diagonal_free
            t = 0.0 if is_free else alpha
            error = scale * (entry_error(a, b, share, i, j) + EPSILON * abs(residual[i, j]))
            z = min(max(y, -t), t)
            total += max(0.0, t * abs(x) - x * z)
            if ridge > 0.0:
                lack = abs(x - (y - z) / ridge)
                total += 0.5 * ridge * lack**2 + lack * error + 0.5 * error**2 / ridge
            elif not is_free:
                total += abs(x) * error
    return total


#: A pivot of at most this share of its variance counts as rounding.
SINGULAR = 1e-12
#: A residual that exceeds its bound by no more than this share of it has met it.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class DTraceProblem:
    r"""Loss and ridge of the D-trace problem, for any strength of sparsity.

    Attributes
    ----------
    A, B : ndarray of shape (d, d)
        Covariances after (of P) and before (of Q), symmetric and positive semidefinite.
    ridge : float
        Curvature added in all directions.
    penalize_diagonal : bool
        Whether alpha counts for the diagonal; if not, the diagonal is eliminated exactly.
    """

    A: FloatArray
    B: FloatArray
    ridge: float
    penalize_diagonal: bool

    @cached_property
    def C(self) -> FloatArray:  # noqa: N802, a matrix
        """Linear term: before minus after."""
        return self.B - self.A

    def check(self) -> None:
        """Refuse covariances that are not positive semidefinite."""
        _ = self.factors

    @cached_property
    def factors(self) -> tuple[FloatArray, FloatArray]:
        """Matrices F and G with A = F'F and B = G'G, with as many rows as the rank."""
        return _low_rank_factor(self.A, "S_p"), _low_rank_factor(self.B, "S_q")

    @cached_property
    def is_definite(self) -> bool:
        """Whether the loss is curved in all directions."""
        d = len(self.A)
        return all(len(factor) == d for factor in self.factors)

    @property
    def may_be_unbounded(self) -> bool:
        """Whether only alpha, and not curvature, keeps the objective from falling for ever."""
        return self.ridge == 0.0 and not self.is_definite

    @cached_property
    def bottomless_alpha(self) -> float:
        r"""An alpha up to which the objective falls without bound; the smallest may be larger.

        The loss of :math:`t\, v v'` falls at the rate :math:`v' B v` if :math:`A v = 0`, and that
        of :math:`-t\, v v'` at :math:`v' A v` if :math:`B v = 0`; the penalty rises at alpha times
        the squared sum of the sizes in v. Tried are the axes and the eigenvectors of the other
        matrix, within the null space.
        """
        found = 0.0
        for singular, other in ((self.A, self.B), (self.B, self.A)):
            scaled, unit = scale_diagonal(singular)
            values, vectors = np.linalg.eigh(scaled)
            null = vectors[:, values <= 1e2 * SINGULAR * values[-1]]
            if null.shape[1] == 0:
                continue
            within = np.linalg.eigh(null.T @ (other / np.outer(unit, unit)) @ null)[1]
            rays = null @ np.hstack([null.T, within]) / unit[:, None]
            rates = np.einsum("ik,ik->k", rays, other @ rays)
            costs = np.abs(rays).sum(axis=0) ** 2
            if not self.penalize_diagonal:
                costs -= (rays**2).sum(axis=0)
            # A ray along an axis costs nothing if the diagonal is free; its own check sees it.
            tried = costs > 1e-8 * np.abs(rays).sum(axis=0) ** 2
            found = max(found, float(np.max(rates[tried] / costs[tried], initial=0.0)))
        return found

    def no_minimum(self, alpha: float) -> NoReturn:
        """Raise the error for an objective that falls without end."""
        raise SolverError("unbounded_at_alpha", alpha=alpha, least=self.bottomless_alpha)

    @cached_property
    def _inverses(self) -> tuple[FloatArray, FloatArray]:
        """Inverses of the correlations after and before."""
        after, before = (np.linalg.inv(scale_diagonal(S)[0]) for S in (self.A, self.B))
        return np.asarray(after), np.asarray(before)

    @cached_property
    def unpenalised(self) -> FloatArray:
        """Difference of the inverses: the minimum of the loss, where it is definite."""
        (after, before), (a, b) = self._inverses, self._deviations
        difference = after / np.outer(a, a) - before / np.outer(b, b)
        return 0.5 * (difference + difference.T)

    def _loss_norm(self, errors: FloatArray) -> float:
        r"""Bound how far residuals that are off by ``errors`` move the point that they belong to.

        By the norm that a definite loss defines: its curvature is at least that of
        :math:`(a_i^2 b_j^2 + b_i^2 a_j^2) / 2` in every entry, times the smallest eigenvalues of
        both correlation matrices.
        """
        (after, before), (a, b) = self._inverses, self._deviations
        curvature = 0.5 * (np.outer(a**2, b**2) + np.outer(b**2, a**2))
        inflation = float(np.linalg.norm(after)) * float(np.linalg.norm(before))
        return float(np.sqrt(np.sum(errors**2 / curvature) * inflation))

    @cached_property
    def _unpenalised_error(self) -> float:
        """How far `unpenalised` may be from the minimum, by the norm that the loss defines."""
        product = (self.A @ self.unpenalised) @ self.B
        left = np.abs(self.C - 0.5 * (product + product.T))
        a, b, share = self.errors(self.unpenalised)
        left += 0.5 * share * (np.outer(a, b) + np.outer(b, a))
        return self._loss_norm(left)

    @cached_property
    def _deviations(self) -> tuple[FloatArray, FloatArray]:
        """Roots of the variances after and before, whose products bound covariances."""
        return np.sqrt(self.A.diagonal()), np.sqrt(self.B.diagonal())

    def errors(self, Delta: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        r"""Bound what rounding makes of :math:`A \Delta B`, as multiples of products of deviations.

        Since covariances are at most the products of their deviations a and b, entry (i, j) of
        :math:`|A| |\Delta| |B|` is at most :math:`a_i b_j \sum_{kl} a_k |\Delta_{kl}| b_l`.
        """
        a, b = self._deviations
        return a, b, 2.0 * sum_error(len(a)) * float(weigh(Delta, a, b))

    @cached_property
    def _has_few_factors(self) -> bool:
        """Whether products of the factors are faster, and as good as those of the covariances."""
        F, G = self.factors
        d = len(self.A)
        return len(F) + len(G) < d and all(
            (S.diagonal() - np.sum(factor**2, axis=0) <= sum_error(d) * S.diagonal()).all()
            for S, factor in ((self.A, F), (self.B, G))
        )

    def sandwich(self, Delta: FloatArray) -> FloatArray:
        """Multiply a symmetric matrix by A from the left and by B from the right."""
        if self._has_few_factors:
            F, G = self.factors
            return np.asarray(F.T @ ((F @ Delta) @ G.T @ G))
        return np.asarray((self.A @ Delta) @ self.B)

    def residual(self, Delta: FloatArray) -> FloatArray:
        r"""Return :math:`C - (A \Delta B + B \Delta A) / 2`, once a free diagonal is at its best.

        ``Delta`` is changed in place: :math:`(A \circ B + \mathrm{ridge}\, I)\, \delta` is the
        residual of the diagonal if :math:`\delta` is what it lacks.
        """
        if not self.penalize_diagonal:
            diagonal = np.einsum("ij,ij->i", self.A @ Delta, self.B)
            lack = self.C.diagonal() - diagonal - self.ridge * Delta.diagonal()
            np.fill_diagonal(Delta, Delta.diagonal() + self._solve_diagonal(lack))
        product = self.sandwich(Delta)
        return np.asarray(self.C - 0.5 * (product + product.T))

    def objective(self, Delta: FloatArray, residual: FloatArray, alpha: float) -> float:
        """Loss, ridge and penalty, given the residual."""
        size, inner, _ = measure(Delta, residual, not self.penalize_diagonal)
        loss = -0.5 * (float(np.vdot(self.C, Delta)) + inner)
        return loss + 0.5 * self.ridge * float(np.vdot(Delta, Delta)) + alpha * size

    def gap(self, Delta: FloatArray, residual: FloatArray, alpha: float) -> float:
        r"""Return the duality gap.

        The dual problem is to maximise :math:`-\frac12 \langle \Gamma, H \Gamma \rangle - \sum
        g^*((C - H \Gamma)_{ij})`, with :math:`H` the operator of the loss. With a ridge,
        :math:`\Gamma = \Delta` is feasible. Without one, residuals must not exceed alpha: the
        point between :math:`\Delta` and the minimum of the loss that scales them down to it is
        taken, which costs half of :math:`(1 - s)^2 \langle R, H^{-1} R \rangle`. What rounding may
        have done to the residuals is counted in: where the loss is curved in all directions, as
        a change of that point; otherwise, as residuals that are larger.
        """
        is_free = not self.penalize_diagonal
        a, b, share = self.errors(Delta)
        scale, cost = 1.0, 0.0
        if self.ridge == 0.0 and self.is_definite:
            largest = largest_residual(residual, a, b, 0.0, is_free)
            scale = min(1.0, alpha / largest) if largest > 0.0 else 1.0
            cost = 0.5 * self._detour(Delta, residual, share, scale) ** 2
            share = 0.0
        elif self.ridge == 0.0 and largest_residual(residual, a, b, share, is_free) > alpha * (
            1.0 + ROUNDING
        ):
            return np.inf
        elif self.ridge == 0.0 and is_free:
            # What the diagonal still lacks would have to be 0.
            cost = float(np.abs(residual.diagonal()) @ np.abs(Delta.diagonal()))
        errors = (a, b, share)
        return cost + conjugate_terms(Delta, residual, errors, self.ridge, alpha, scale, is_free)

    def _detour(self, Delta: FloatArray, residual: FloatArray, share: float, scale: float) -> float:
        """Bound how far a point is whose residual is ``scale`` times the one that was computed.

        Counted from ``Delta``, by the norm that the loss defines.
        """
        a, b = self._deviations
        way = 0.0
        if scale < 1.0:
            ahead = self.unpenalised - Delta
            square = max(float(np.vdot(residual, ahead)), 0.0) + share * weigh(ahead, a, b)
            way = (1.0 - scale) * (float(np.sqrt(square)) + self._unpenalised_error)
        errors = 0.5 * share * (np.outer(a, b) + np.outer(b, a))
        if not self.penalize_diagonal:
            errors += np.diag(np.abs(residual.diagonal()))
        return way + self._loss_norm(errors)

    def _solve_diagonal(self, lack: FloatArray) -> FloatArray:
        """Solve for the diagonal that meets ``lack``, as accurately as its curvature allows."""
        scaled, unit, factor = self._diagonal_curvature
        right = lack / unit
        if factor is not None:
            return np.asarray(linalg.cho_solve(factor, right)) / unit
        solution = np.asarray(linalg.pinvh(scaled, rtol=SINGULAR) @ right)
        unmet = linalg.norm(right - scaled @ solution)
        if self.ridge == 0.0 and unmet > 1e-8 * linalg.norm(self.C.diagonal() / unit):
            raise SolverError("unbounded_diagonal")
        return solution / unit

    @cached_property
    def _diagonal_curvature(
        self,
    ) -> tuple[FloatArray, FloatArray, tuple[FloatArray, bool] | None]:
        """Curvature of the diagonal in units of its own, the units, and a Cholesky factor.

        There is no factor where the curvature is singular.
        """
        scaled, unit = scale_diagonal(self.A * self.B + self.ridge * np.eye(len(self.A)))
        try:
            factor, is_lower = linalg.cho_factor(scaled)
        except linalg.LinAlgError:
            return scaled, unit, None
        is_regular = factor.diagonal().min() ** 2 > SINGULAR
        return scaled, unit, (factor, is_lower) if is_regular else None


def scale_diagonal(S: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Scale a matrix to a diagonal of ones, where it is not 0; also return the units."""
    unit = np.sqrt(np.where(S.diagonal() > 0.0, S.diagonal(), 1.0))
    return S / np.outer(unit, unit), unit


def _low_rank_factor(S: FloatArray, name: str) -> FloatArray:
    """Return F with S = F'F and as many rows as S has rank, or refuse what has no such F."""
    scaled, unit = scale_diagonal(S)
    factor, pivots, rank, info = lapack.dpstrf(scaled, tol=SINGULAR)
    F = np.zeros((rank, len(S)))
    F[:, pivots - 1] = np.triu(factor)[:rank]
    # On a matrix with negative eigenvalues the pivots end early and leave something over.
    if info != 0 and np.abs(F.T @ F - scaled).max() > 1e-8:
        raise InputError("not_semidefinite", name=name, smallest=np.linalg.eigvalsh(S)[0])
    return np.asarray(F * unit)
