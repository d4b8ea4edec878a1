// The exact Hessian of the Laplace approximation.
//
// With Phi(u, theta) = h + 1/2 log det H + lambda'h_u and lambda = -H^-1 (1/2 log det H)_u' held fixed, the Hessian of
// f(theta) = Phi(u^(theta), theta) is that of Phi along the directions (u_k, 1) in which the modes move with parameter k.
// With y_j = N z~_j, P_ij = z~_i'y_j, Q = Z'(D - D Z~N Z~'D) Z, t_j = Q L z~_j, and subscripts for derivatives along the
// directions of parameters k and l, where eta_kl = z'dL_k u_l + z'dL_l u_k,
//
//     f_kl = u_k'u_l + sum over rows of the second derivatives of l + s d / 2 - v r in eta and cut-points at fixed s and v
//          + sum (r + s c / 2 - v d) eta_kl + sum (r_k w_l + r_l w_k),                    w_l = z'dL_l lambda
//          + sum (d_k x_l + d_l x_k),                                                     x_l = z'dL_l (N z~) - t'dL_l y
//          - 1/2 sum over pairs of rows d_k,i P_ij^2 d_l,j
//          + 1/2 the second derivative of log det H with D fixed, from the moments of Q (moments.hpp).
//
// Q = L'^-1 (I - N) L^-1 where L can be inverted. It takes the whole N of a connected component, and all pairs of its rows.
#include <algorithm>
#include <tuple>

#include "dense.hpp"
#include "information.hpp"
#include "laplace.hpp"
#include "moments.hpp"
#include "simd.hpp"
#include "sizes.hpp"

namespace ordbridge {
namespace {

constexpr double GATHERED = 1.0, MOVED = 60.0;  // what takes as long as so many multiplications of matrices
constexpr std::size_t MOST = 2000;     // effects or cells of a component, because whole matrices are kept of them
constexpr std::size_t MOST_KINDS = 3;  // of rows of Z, for every column
constexpr std::size_t STRIP = 32;  // rows whose pairs with all others are made at a time

// to += factor * from
ORDBRIDGE_CLONES void add(double factor, const double* from, double* to, std::size_t n) {
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) to[i] += factor * from[i];
}

// to_j += y[at_j] of the first n rows
ORDBRIDGE_CLONES void add_gathered(const int* at, const double* y, double* to, std::size_t n) {
#pragma omp simd
    for (std::size_t j = 0; j < n; ++j) to[j] += y[at[j]];
}

ORDBRIDGE_CLONES void square(double* x, std::size_t n) {
#pragma omp simd
    for (std::size_t j = 0; j < n; ++j) x[j] *= x[j];
}

}  // namespace

// The different rows of Z of a factor, such as one for every system.
struct Laplace::Kinds {
    std::vector<const double*> z;
    std::vector<int> of_row;
};

// How the rows of a connected component see its effects, which are numbered factor by factor, column by column. A cell is a
// level of a factor with one kind of rows of Z; cells are numbered factor by factor, kind by kind.
struct Laplace::Part {
    std::size_t first, rows, effects, cells;
    std::vector<std::size_t> begin, first_cell, levels;  // per factor
    std::vector<std::vector<int>> at, cell;              // per factor and row the first effect of its level, and its cell
};

// Empty where a factor has too many of them, such as the values of a covariate.
std::vector<Laplace::Kinds> Laplace::kinds() const {
    std::vector<Kinds> found;
    for (std::size_t f = 0; f < design_->factors.size(); ++f) {
        const std::size_t q = design_->factors[f].size, n = design_->n;
        found.push_back({{}, std::vector<int>(n)});
        std::vector<const double*>& z = found.back().z;
        for (std::size_t i = 0; i < n; ++i) {
            const double* row = z_[f] + i * q;
            const auto same = std::find_if(z.begin(), z.end(), [&](const double* known) { return std::equal(row, row + q, known); });
            found.back().of_row[i] = static_cast<int>(same - z.begin());
            if (same == z.end()) z.push_back(row);
            if (z.size() > MOST_KINDS * q) return {};
        }
    }
    return found;
}

double Laplace::cost_of_exact(std::size_t free) const {
    const std::vector<Kinds> known = kinds();
    if (known.empty()) return std::numeric_limits<double>::infinity();
    const double factors = static_cast<double>(known.size());
    double total = 0.0;
    const std::vector<Part> all = parts(known);
    for (std::size_t c = 0; c < all.size(); ++c) {
        const double n = static_cast<double>(all[c].rows), m = static_cast<double>(all[c].effects);
        if (all[c].effects > MOST || all[c].cells > MOST) return std::numeric_limits<double>::infinity();
        total += n * n * (GATHERED * factors + 0.5 * static_cast<double>(free)) + 3.0 * n * m * factors + MOVED * m * m +
                 elimination_->dense_cost(static_cast<int>(c), all[c].effects);
    }
    return total;
}

std::vector<Laplace::Part> Laplace::parts(const std::vector<Kinds>& kinds) const {
    std::vector<Part> found;
    std::size_t row = 0;
    const std::size_t n = design_->n;
    for (int c = 0; c < design_->components(); ++c) {
        Part part{row, 0, 0, 0, {}, {}, {}, {}, {}};
        while (row < n && design_->factors[0].level[row] < design_->factors[0].component[c + 1]) ++row;
        part.rows = row - part.first;
        for (std::size_t f = 0; f < kinds.size(); ++f) {
            const Factor& factor = design_->factors[f];
            const std::size_t levels = factor.component[c + 1] - factor.component[c];
            part.begin.push_back(part.effects);
            part.first_cell.push_back(part.cells);
            part.levels.push_back(levels);
            part.at.emplace_back(part.rows);
            part.cell.emplace_back(part.rows);
            for (std::size_t i = 0; i < part.rows; ++i) {
                const std::size_t level = factor.level[part.first + i] - factor.component[c];
                part.at[f][i] = static_cast<int>(part.effects + level);
                part.cell[f][i] = static_cast<int>(part.cells + kinds[f].of_row[part.first + i] * levels + level);
            }
            part.effects += levels * factor.size;
            part.cells += levels * kinds[f].z.size();
        }
        found.push_back(std::move(part));
    }
    return found;
}

namespace {

// Q = L'^-1 (I - N) L^-1
void unscale(const Vector& N, const Design& design, const Cholesky& L, const std::vector<std::size_t>& begin,
             const std::vector<std::size_t>& levels, std::size_t m, Vector& Q) {
    for (std::size_t i = 0; i < m * m; ++i) Q[i] = -N[i];
    for (std::size_t i = 0; i < m; ++i) Q[i * m + i] += 1.0;
    std::vector<Vector> inverse;
    for (std::size_t f = 0; f < L.size(); ++f) {
        inverse.emplace_back(L[f].size());
        dense::invert_lower(L[f].data(), design.factors[f].size, inverse[f].data());
    }
    // to = sum over k >= a of inverse[k, a] times what lies k - a pieces further on
    const auto combine = [&](std::size_t f, int a, double* to, std::size_t apart, std::size_t count) {
        const int q = design.factors[f].size;
        const double own = inverse[f][a * q + a];
        for (std::size_t j = 0; j < count; ++j) to[j] *= own;
        for (int k = a + 1; k < q; ++k) add(inverse[f][k * q + a], to + (k - a) * apart, to, count);
    };
    for (std::size_t f = 0; f < L.size(); ++f)
        for (int a = 0; a < design.factors[f].size; ++a)
            for (std::size_t g = 0; g < levels[f]; ++g) combine(f, a, &Q[(begin[f] + a * levels[f] + g) * m], levels[f] * m, m);
    for (std::size_t i = 0; i < m; ++i)
        for (std::size_t f = 0; f < L.size(); ++f)
            for (int a = 0; a < design.factors[f].size; ++a)
                combine(f, a, &Q[i * m + begin[f] + a * levels[f]], levels[f], levels[f]);
}

// What a process keeps from one Hessian to the next, because new memory takes longer than the numbers in it.
struct Scratch {
    Vector N, Q, V, P;
    void resize(Vector& x, std::size_t size) {
        if (x.size() < size) Vector(size).swap(x);
    }
};

}  // namespace

// Q where L is singular: by V = Z'D Z~N and t_j = V z~_j, row by row.
void Laplace::fill_by_rows(const Part& part, const Vector& N, Vector& V, Vector& Q) const {
    const std::size_t m = part.effects, factors = part.begin.size();
    const Vector& d = ratings_.d;
    Vector y(m);
    std::fill_n(V.begin(), m * m, 0.0);
    std::fill_n(Q.begin(), m * m, 0.0);
    const auto each = [&](std::size_t i, auto&& call) {  // call(column of the component, its number in Z, and in Z~)
        for (std::size_t f = 0; f < factors; ++f) {
            const std::size_t q = design_->factors[f].size, row = (part.first + i) * q;
            for (std::size_t a = 0; a < q; ++a) call(part.at[f][i] + a * part.levels[f], z_[f][row + a], zt_rows_[f][row + a]);
        }
    };
    for (std::size_t i = 0; i < part.rows; ++i) {
        std::fill(y.begin(), y.end(), 0.0);
        each(i, [&](std::size_t k, double, double zt) { add(zt, &N[k * m], y.data(), m); });
        each(i, [&](std::size_t k, double z, double) { add(d[part.first + i] * z, y.data(), &V[k * m], m); });
    }
    for (std::size_t j = 0; j < m; ++j)
        for (std::size_t k = 0; k < j; ++k) std::swap(V[j * m + k], V[k * m + j]);
    for (std::size_t i = 0; i < part.rows; ++i) {
        std::fill(y.begin(), y.end(), 0.0);
        each(i, [&](std::size_t k, double, double zt) { add(-zt, &V[k * m], y.data(), m); });
        each(i, [&](std::size_t k, double z, double) { y[k] += z; });
        each(i, [&](std::size_t k, double z, double) { add(d[part.first + i] * z, y.data(), &Q[k * m], m); });
    }
}

// Add what one component contributes to x, to the moments of Q and to the sum over pairs of rows; dk holds d_k, a row of
// `size` numbers for every row.
void Laplace::add_component(int component, const Part& part, const std::vector<Kinds>& kinds, const std::vector<Entry>& entries,
                            const Vector& dk, std::size_t size, Vector& x, Moments& moments, Vector& H) {
    static thread_local Scratch scratch;
    const std::size_t n = part.rows, m = part.effects, factors = design_->factors.size();
    Vector &N = scratch.N, &Q = scratch.Q, &P = scratch.P;
    scratch.resize(N, m * m);
    scratch.resize(Q, m * m);
    scratch.resize(P, STRIP * n);
    std::vector<int> effects;
    for (std::size_t f = 0; f < factors; ++f) {
        const Factor& factor = design_->factors[f];
        for (int a = 0; a < factor.size; ++a)
            for (int g = factor.component[component]; g < factor.component[component + 1]; ++g)
                effects.push_back(factor.offset + g * factor.size + a);
    }
    elimination_->dense_inverse(component, effects, N.data());
    if (is_regular(*design_, L_)) {
        unscale(N, *design_, L_, part.begin, part.levels, m, Q);
    } else {
        scratch.resize(scratch.V, m * m);
        fill_by_rows(part, N, scratch.V, Q);
    }
    // per factor, kind and column: of z~ = L'z, and of L z~
    std::vector<Vector> standardised, back;
    for (std::size_t f = 0; f < factors; ++f) {
        const std::size_t q = design_->factors[f].size, count = kinds[f].z.size();
        standardised.emplace_back(count * q);
        back.emplace_back(count * q, 0.0);
        for (std::size_t s = 0; s < count; ++s) {
            double* zt = &standardised[f][s * q];
            transposed_times(L_[f].data(), static_cast<int>(q), kinds[f].z[s], 1, zt);
            for (std::size_t a = 0; a < q; ++a)
                for (std::size_t b = 0; b <= a; ++b) back[f][s * q + a] += L_[f][a * q + b] * zt[b];
        }
    }
    // rows of a matrix, summed for every cell
    const auto of_cells = [&](const Vector& matrix, const std::vector<Vector>& weights, Vector& out) {
        scratch.resize(out, part.cells * m);
        for (std::size_t f = 0; f < factors; ++f) {
            const std::size_t q = design_->factors[f].size, levels = part.levels[f];
            for (std::size_t s = 0; s < kinds[f].z.size(); ++s)
                for (std::size_t g = 0; g < levels; ++g) {
                    double* to = &out[(part.first_cell[f] + s * levels + g) * m];
                    std::fill_n(to, m, 0.0);
                    for (std::size_t a = 0; a < q; ++a)
                        if (weights[f][s * q + a] != 0.0) add(weights[f][s * q + a], &matrix[(part.begin[f] + a * levels + g) * m], to, m);
                }
        }
    };
    Vector &Y = scratch.V, &T = scratch.N;
    of_cells(N, standardised, Y);
    of_cells(Q, back, T);
    Vector y(m), t(m), y_of_cells(part.cells), G(STRIP * size);
    for (std::size_t top = 0; top < n; top += STRIP) {
        const std::size_t end = std::min(top + STRIP, n), strip = end - top;
        std::fill_n(P.begin(), strip * end, 0.0);
        for (std::size_t i = top; i < end; ++i) {
            std::fill(y.begin(), y.end(), 0.0);
            std::fill(t.begin(), t.end(), 0.0);
            std::fill(y_of_cells.begin(), y_of_cells.end(), 0.0);
            for (std::size_t f = 0; f < factors; ++f) {
                add(1.0, &Y[part.cell[f][i] * m], y.data(), m);
                add(1.0, &T[part.cell[f][i] * m], t.data(), m);
            }
            double* row = &P[(i - top) * end];
            for (std::size_t f = 0; f < factors; ++f) {
                const std::size_t q = design_->factors[f].size, levels = part.levels[f];
                for (std::size_t s = 0; s < kinds[f].z.size(); ++s)
                    for (std::size_t a = 0; a < q; ++a)
                        add(standardised[f][s * q + a], &y[part.begin[f] + a * levels], &y_of_cells[part.first_cell[f] + s * levels],
                            levels);
                add_gathered(part.cell[f].data(), y_of_cells.data(), row, end);
            }
            square(row, end);
            for (std::size_t k = 0; k < entries.size(); ++k) {
                const Entry& entry = entries[k];
                const std::size_t from = part.begin[entry.factor], levels = part.levels[entry.factor];
                x[k * design_->n + part.first + i] -=
                    dense::dot(&y[from + entry.column * levels], &t[from + entry.row * levels], static_cast<dense::Size>(levels));
            }
        }
        // pairs with rows before the strip count twice
        for (const auto& [from, to, times] : {std::tuple<std::size_t, std::size_t, double>{0, top, 1.0}, {top, end, 0.5}}) {
            if (from == to) continue;
            std::fill(G.begin(), G.end(), 0.0);
            const auto rows = static_cast<dense::Size>(strip), inner = static_cast<dense::Size>(to - from);
            const auto k = static_cast<dense::Size>(size);
            dense::add_product(times, dense::view(&P[from], rows, inner, static_cast<dense::Size>(end)),
                               dense::view(&dk[(part.first + from) * size], inner, k), G.data(), k);
            for (std::size_t i = top; i < end; ++i)
                for (std::size_t a = 0; a < size; ++a) {
                    const double left = -0.5 * dk[(part.first + i) * size + a];
                    for (std::size_t b = 0; b < size; ++b) {
                        const double value = left * G[(i - top) * size + b];
                        H[a * size + b] += value;
                        H[b * size + a] += value;
                    }
                }
        }
    }
    for (std::size_t f = 0; f < factors; ++f) {
        const int p = design_->factors[f].size;
        const auto at = [&](int a, std::size_t level, std::size_t g, int b) {
            return &Q[(part.begin[f] + a * part.levels[f] + level) * m + part.begin[g] + b * part.levels[g]];
        };
        for (int a = 0; a < p; ++a)
            for (int b = 0; b < p; ++b)
                for (std::size_t level = 0; level < part.levels[f]; ++level)
                    moments.own[f][a * p + b] += at(a, level, f, b)[level];
        for (std::size_t g = f; g < factors; ++g) {
            const int q = design_->factors[g].size, all = p * q;
            Vector& out = moments.pair[f * factors + g];
            for (int one = 0; one < all; ++one)
                for (int two = 0; two <= one; ++two) {
                    double total = 0.0;
                    for (std::size_t level = 0; level < part.levels[f]; ++level)
                        total += dense::dot(at(one / q, level, g, one % q), at(two / q, level, g, two % q),
                                            static_cast<dense::Size>(part.levels[g]));
                    out[one * all + two] += total;
                    if (one != two) out[two * all + one] += total;
                }
        }
    }
}

Vector Laplace::exact_hessian(const std::vector<int>& free) {
    const std::size_t n = eta_.size(), size = free.size(), effects = u_.size();
    const int own = ratings_.parameters();
    // lambda and v, as in the gradient
    Vector lambda(effects, 0.0), v(n, 0.0), weight(n);
    for (std::size_t i = 0; i < n; ++i) weight[i] = half_[i] * ratings_.c[i];
    add_row_sums(*design_, zt_rows_, weight.data(), lambda);
    elimination_->solve(lambda);
    for (double& value : lambda) value = -value;
    add_row_products(*design_, zt_rows_, lambda, v.data());  // minus the gradient's v
    for (std::size_t i = 0; i < n; ++i) weight[i] += ratings_.r[i] + v[i] * ratings_.d[i];
    std::vector<Entry> entries;
    std::vector<int> place;
    std::vector<Vector> U;
    Vector up(size * n, 0.0), low(size * n, 0.0), eta(size * n, 0.0);
    for (std::size_t k = 0; k < size; ++k) {
        Vector direction(parameters(), 0.0);
        direction.at(free[k]) = 1.0;
        U.push_back(tangent(direction));
        Vector moved(n, 0.0);
        add_row_products(*design_, zt_rows_, U.back(), moved.data());
        if (free[k] < own) {
            ratings_.directions(free[k], &up[k * n], &low[k * n], moved.data());
        } else {
            const Entry& entry = entries_[free[k] - own];
            const Factor& factor = design_->factors[entry.factor];
            for (std::size_t i = 0; i < n; ++i)
                moved[i] += factor.z[i * factor.size + entry.row] * factor.of(u_, factor.level[i])[entry.column];
            entries.push_back(entry);
            place.push_back(static_cast<int>(k));
        }
        std::copy(moved.begin(), moved.end(), &eta[k * n]);
    }
    Vector dk(n * size), rk(n * size);
    for (std::size_t k = 0; k < size; ++k)
        for (std::size_t i = 0; i < n; ++i) {
            const std::size_t at = k * n + i;
            rk[at] = ratings_.d[i] * eta[at] + ratings_.r_up[i] * up[at] + ratings_.r_lo[i] * low[at];
            dk[i * size + k] = ratings_.c[i] * eta[at] + ratings_.d_up[i] * up[at] + ratings_.d_lo[i] * low[at];
        }
    Vector H(size * size, 0.0);
    ratings_.add_curvature(half_, v, up, low, eta, size, H);
    for (std::size_t k = 0; k < size; ++k)
        for (std::size_t l = 0; l < size; ++l)
            H[k * size + l] += dense::dot(U[k].data(), U[l].data(), static_cast<dense::Size>(effects));
    // what changes Z~: one entry of L after the other
    Vector x(entries.size() * n), w(n);
    for (std::size_t e = 0; e < entries.size(); ++e) {
        const Entry& entry = entries[e];
        const Factor& factor = design_->factors[entry.factor];
        const int q = factor.size;
        Vector sums(factor.levels, 0.0);
        for (std::size_t i = 0; i < n; ++i) {
            const double z = factor.z[i * q + entry.row];
            sums[factor.level[i]] += weight[i] * z;
            w[i] = z * factor.of(lambda, factor.level[i])[entry.column];
            x[e * n + i] = z * Nz_[entry.factor][i * q + entry.column];
        }
        for (std::size_t k = 0; k < size; ++k) {
            double total = dense::dot(&rk[k * n], w.data(), static_cast<dense::Size>(n));
            for (int g = 0; g < factor.levels; ++g) total += sums[g] * factor.of(U[k], g)[entry.column];
            H[k * size + place[e]] += total;
            H[place[e] * size + k] += total;
        }
    }
    const std::vector<Kinds> known = kinds();
    const std::vector<Part> all = parts(known);
    Moments moments{static_cast<int>(design_->factors.size()), {}, {}, 0, {}};
    for (const Factor& first : design_->factors) {
        moments.own.emplace_back(first.size * first.size, 0.0);
        for (const Factor& second : design_->factors)
            moments.pair.emplace_back(first.size * first.size * second.size * second.size, 0.0);
    }
    for (std::size_t c = 0; c < all.size(); ++c) add_component(static_cast<int>(c), all[c], known, entries, dk, size, x, moments, H);
    for (std::size_t e = 0; e < entries.size(); ++e)
        for (std::size_t f = 0; f <= e; ++f) {
            const bool later = entries[f].factor > entries[e].factor;
            const double value = 0.5 * second_log_determinant(*design_, L_, moments, entries[later ? e : f], entries[later ? f : e]);
            H[place[e] * size + place[f]] += value;
            if (e != f) H[place[f] * size + place[e]] += value;
        }
    for (std::size_t e = 0; e < entries.size(); ++e)
        for (std::size_t k = 0; k < size; ++k) {
            double total = 0.0;
            for (std::size_t i = 0; i < n; ++i) total += dk[i * size + k] * x[e * n + i];
            H[k * size + place[e]] += total;
            H[place[e] * size + k] += total;
        }
    for (std::size_t k = 0; k < size; ++k)
        for (std::size_t l = 0; l < k; ++l) H[k * size + l] = H[l * size + k] = 0.5 * (H[k * size + l] + H[l * size + k]);
    return H;
}

}  // namespace ordbridge
