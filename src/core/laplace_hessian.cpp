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
constexpr std::size_t MOST = 3000;     // effects or cells of a component, because whole matrices are kept of them
constexpr std::size_t MOST_KINDS = 3;  // of rows of Z, for every column
constexpr std::size_t STRIP = 32;  // rows whose pairs with all others are made at a time

// to += factor * from
ORDBRIDGE_CLONES void add(double factor, const double* from, double* to, std::size_t n) {
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) to[i] += factor * from[i];
}

// to = the sum of q rows, `apart` from each other, times their weights
ORDBRIDGE_CLONES void combine(const double* weights, int q, const double* rows, std::size_t apart, double* to, std::size_t n) {
    std::fill(to, to + n, 0.0);
    int a = 0;
    for (; a + 4 <= q; a += 4) {
        const double w0 = weights[a], w1 = weights[a + 1], w2 = weights[a + 2], w3 = weights[a + 3];
        const double *x0 = rows + a * apart, *x1 = x0 + apart, *x2 = x1 + apart, *x3 = x2 + apart;
#pragma omp simd
        for (std::size_t j = 0; j < n; ++j) to[j] += (w0 * x0[j] + w1 * x1[j]) + (w2 * x2[j] + w3 * x3[j]);
    }
    for (; a < q; ++a) {
        const double w = weights[a], *x = rows + a * apart;
#pragma omp simd
        for (std::size_t j = 0; j < n; ++j) to[j] += w * x[j];
    }
}

// to_j += y[at_j] of the first n rows
ORDBRIDGE_CLONES void add_gathered(const int* at, const double* y, double* to, std::size_t n) {
#pragma omp simd
    for (std::size_t j = 0; j < n; ++j) to[j] += y[at[j]];
}

// the same for two, which overwrite
ORDBRIDGE_CLONES void gather_two(const int* one, const int* two, const double* y, double* to, std::size_t n) {
#pragma omp simd
    for (std::size_t j = 0; j < n; ++j) to[j] = y[one[j]] + y[two[j]];
}

ORDBRIDGE_CLONES void square(double* x, std::size_t n) {
#pragma omp simd
    for (std::size_t j = 0; j < n; ++j) x[j] *= x[j];
}

// The products of two vectors with four others.
ORDBRIDGE_INLINE void two_by_four(const double* const* x, const double* const* y, std::size_t n, double* out) {
    const double *x0 = x[0], *x1 = x[1], *y0 = y[0], *y1 = y[1], *y2 = y[2], *y3 = y[3];
    double a0 = 0.0, a1 = 0.0, a2 = 0.0, a3 = 0.0, b0 = 0.0, b1 = 0.0, b2 = 0.0, b3 = 0.0;
#pragma omp simd reduction(+ : a0, a1, a2, a3, b0, b1, b2, b3)
    for (std::size_t j = 0; j < n; ++j) {
        a0 += x0[j] * y0[j];
        a1 += x0[j] * y1[j];
        a2 += x0[j] * y2[j];
        a3 += x0[j] * y3[j];
        b0 += x1[j] * y0[j];
        b1 += x1[j] * y1[j];
        b2 += x1[j] * y2[j];
        b3 += x1[j] * y3[j];
    }
    const double found[] = {a0, a1, a2, a3, b0, b1, b2, b3};
    std::copy(found, found + 8, out);
}

// Add the products of all vectors with each other to `out`, count × count; the list ends with four vectors more, which do not matter.
ORDBRIDGE_CLONES void add_gram(const double* const* x, int count, std::size_t n, double* out) {
    double found[8];
    for (int i = 0; i < count; i += 2)
        for (int j = 0; j <= i + 1; j += 4) {
            two_by_four(x + i, x + j, n, found);
            for (int a = i; a < std::min(i + 2, count); ++a)
                for (int b = j; b < std::min(j + 4, a + 1); ++b) {
                    const double value = found[(a - i) * 4 + b - j];
                    out[a * count + b] += value;
                    if (a != b) out[b * count + a] += value;
                }
        }
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
    std::vector<std::vector<std::size_t>> rows_of;       // per cell
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
        Part part{row, 0, 0, 0, {}, {}, {}, {}, {}, {}};
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
        part.rows_of.resize(part.cells);
        for (const std::vector<int>& cells : part.cell)
            for (std::size_t i = 0; i < part.rows; ++i) part.rows_of[cells[i]].push_back(i);
        found.push_back(std::move(part));
    }
    return found;
}

namespace {

// What a process keeps from one Hessian to the next, because new memory takes longer than the numbers in it.
struct Scratch {
    Vector N, Y, V, F, P;
    static Vector& sized(Vector& x, std::size_t size) {
        if (x.size() < size) Vector(size).swap(x);
        return x;
    }
};

// to = the transposed of an m × m matrix
void transpose(const double* from, double* to, std::size_t m) {
    constexpr std::size_t TILE = 16;
    for (std::size_t top = 0; top < m; top += TILE)
        for (std::size_t left = 0; left < m; left += TILE)
            for (std::size_t i = top; i < std::min(top + TILE, m); ++i)
                for (std::size_t j = left; j < std::min(left + TILE, m); ++j) to[j * m + i] = from[i * m + j];
}

}  // namespace

// Rows of a matrix with the component's effects, summed for every cell with these weights (per factor, kind and column).
void Laplace::sum_for_cells(const Part& part, const std::vector<Kinds>& kinds, const std::vector<Vector>& weights, const double* matrix,
                            double* out) const {
    const std::size_t m = part.effects;
    for (std::size_t f = 0; f < kinds.size(); ++f) {
        const std::size_t q = design_->factors[f].size, levels = part.levels[f];
        for (std::size_t g = 0; g < levels; ++g)
            for (std::size_t s = 0; s < kinds[f].z.size(); ++s)
                combine(&weights[f][s * q], static_cast<int>(q), &matrix[(part.begin[f] + g) * m], levels * m,
                        &out[(part.first_cell[f] + s * levels + g) * m], m);
    }
}

// sum = the sum over the rows i of a cell of d_i X_i, where X_i is the sum over its cells of rows of `cells`.
void Laplace::weigh_cell(const Part& part, std::size_t f, std::size_t cell, const double* cells, Vector& sum) const {
    const std::size_t m = part.effects;
    std::fill(sum.begin(), sum.end(), 0.0);
    double own = 0.0;
    for (const std::size_t i : part.rows_of[cell]) {
        const double d = ratings_.d[part.first + i];
        own += d;
        for (std::size_t other = 0; other < part.cell.size(); ++other)
            if (other != f) add(d, &cells[part.cell[other][i] * m], sum.data(), m);
    }
    add(own, &cells[cell * m], sum.data(), m);
}

// Where L is singular, from rows Y of N: F, whose rows of cells sum to t_j = Q L z~_j, that is V z~_j with V = Z'D Z~N.
void Laplace::fill_by_cells(const Part& part, const std::vector<Kinds>& kinds, const std::vector<Vector>& standardised, const double* Y,
                            double* V, double* transposed, double* F) const {
    const std::size_t m = part.effects;
    std::fill_n(V, m * m, 0.0);
    Vector sum(m);
    for (std::size_t f = 0; f < kinds.size(); ++f) {
        const std::size_t q = design_->factors[f].size, levels = part.levels[f];
        for (std::size_t g = 0; g < levels; ++g)
            for (std::size_t s = 0; s < kinds[f].z.size(); ++s) {
                const std::size_t cell = part.first_cell[f] + s * levels + g;
                if (part.rows_of[cell].empty()) continue;
                weigh_cell(part, f, cell, Y, sum);
                for (std::size_t a = 0; a < q; ++a)
                    if (kinds[f].z[s][a] != 0.0) add(kinds[f].z[s][a], sum.data(), &V[(part.begin[f] + a * levels + g) * m], m);
            }
    }
    transpose(V, transposed, m);
    sum_for_cells(part, kinds, standardised, transposed, F);
}

// The rows of Q = Z'D (Z - Z~V') of one level.
void Laplace::fill_level(const Part& part, const std::vector<Kinds>& kinds, std::size_t f, std::size_t level, const double* F, Vector& sum,
                         double* own) const {
    const std::size_t m = part.effects, levels = part.levels[f], factors = kinds.size();
    const int q = design_->factors[f].size;
    std::fill_n(own, q * m, 0.0);
    for (std::size_t s = 0; s < kinds[f].z.size(); ++s) {
        const std::size_t cell = part.first_cell[f] + s * levels + level;
        if (part.rows_of[cell].empty()) continue;
        weigh_cell(part, f, cell, F, sum);
        const double* z = kinds[f].z[s];
        for (int a = 0; a < q; ++a) {
            if (z[a] == 0.0) continue;
            add(-z[a], sum.data(), own + a * m, m);
            for (const std::size_t i : part.rows_of[cell])
                for (std::size_t g = 0; g < factors; ++g)
                    for (int b = 0; b < design_->factors[g].size; ++b)
                        own[a * m + part.at[g][i] + b * part.levels[g]] +=
                            z[a] * ratings_.d[part.first + i] * kinds[g].z[kinds[g].of_row[part.first + i]][b];
        }
    }
}

// Add the moments of Q, level by level: by F, or where L can be inverted those of L'^-1 (I - N) L^-1.
void Laplace::add_moments(const Part& part, const std::vector<Kinds>& kinds, const double* N, const double* F, Moments& moments) const {
    const std::size_t m = part.effects, factors = part.begin.size();
    std::vector<Vector> inverse;
    std::size_t most = 0, slices = 0;
    for (std::size_t f = 0; f < factors; ++f) {
        const int q = design_->factors[f].size;
        most = std::max(most, static_cast<std::size_t>(q));
        inverse.emplace_back(q * q);
        if (!F) dense::invert_lower(L_[f].data(), q, inverse[f].data());
    }
    for (std::size_t f = 0; f < factors; ++f) slices = std::max(slices, most * design_->factors[f].size);
    Vector own(most * m), weights(most), sum(m);
    std::vector<const double*> rows(most), slice(slices + 4);
    for (std::size_t f = 0; f < factors; ++f) {
        const int p = design_->factors[f].size;
        const std::size_t levels = part.levels[f];
        for (std::size_t level = 0; level < levels; ++level) {
            const std::size_t first = part.begin[f] + level;
            for (int a = 0; a < p; ++a) {
                double* to = &own[a * m];
                rows[a] = to;
                if (F) continue;
                for (int k = a; k < p; ++k) weights[k] = -inverse[f][k * p + a];
                combine(&weights[a], p - a, &N[(first + a * levels) * m], levels * m, to, m);
                for (int k = a; k < p; ++k) to[first + k * levels] -= weights[k];
                for (std::size_t g = 0; g < factors; ++g) {  // column b takes what lies in the later ones
                    const int q = design_->factors[g].size;
                    const std::size_t wide = part.levels[g];
                    for (int b = 0; b < q; ++b) {
                        double* column = &to[part.begin[g] + b * wide];
                        const double scale = inverse[g][b * q + b];
                        for (std::size_t j = 0; j < wide; ++j) column[j] *= scale;
                        for (int k = b + 1; k < q; ++k) add(inverse[g][k * q + b], column + (k - b) * wide, column, wide);
                    }
                }
            }
            if (F) fill_level(part, kinds, f, level, F, sum, own.data());
            for (int a = 0; a < p; ++a)
                for (int b = 0; b < p; ++b) moments.own[f][a * p + b] += rows[a][first + b * levels];
            for (std::size_t g = f; g < factors; ++g) {
                const int q = design_->factors[g].size;
                std::fill(slice.begin(), slice.end(), rows[0]);
                for (int a = 0; a < p; ++a)
                    for (int b = 0; b < q; ++b) slice[a * q + b] = rows[a] + part.begin[g] + b * part.levels[g];
                add_gram(slice.data(), p * q, part.levels[g], moments.pair[f * factors + g].data());
            }
        }
    }
}

// Add what one component contributes to x, to the moments of Q and to the sum over pairs of rows; dk holds d_k, a row of
// `size` numbers for every row.
void Laplace::add_component(int component, const Part& part, const std::vector<Kinds>& kinds, const std::vector<Entry>& entries,
                            const Vector& dk, std::size_t size, Vector& x, Moments& moments, Vector& H) {
    static thread_local Scratch scratch;
    const std::size_t n = part.rows, m = part.effects, factors = design_->factors.size();
    double *N = Scratch::sized(scratch.N, m * m).data(), *Y = Scratch::sized(scratch.Y, part.cells * m).data();
    Vector& P = Scratch::sized(scratch.P, STRIP * n);
    std::vector<int> effects;
    for (std::size_t f = 0; f < factors; ++f) {
        const Factor& factor = design_->factors[f];
        for (int a = 0; a < factor.size; ++a)
            for (int g = factor.component[component]; g < factor.component[component + 1]; ++g)
                effects.push_back(factor.offset + g * factor.size + a);
    }
    elimination_->dense_inverse(component, effects, N);
    std::vector<Vector> standardised, inverse;  // per factor, kind and column: of z~ = L'z; and L^-1
    const bool regular = is_regular(*design_, L_);
    std::size_t most = 0;
    for (std::size_t f = 0; f < factors; ++f) {
        const std::size_t q = design_->factors[f].size, count = kinds[f].z.size();
        most = std::max(most, q);
        standardised.emplace_back(count * q);
        for (std::size_t s = 0; s < count; ++s)
            transposed_times(L_[f].data(), static_cast<int>(q), kinds[f].z[s], 1, &standardised[f][s * q]);
        inverse.emplace_back(q * q);
        if (regular) dense::invert_lower(L_[f].data(), static_cast<dense::Size>(q), inverse[f].data());
    }
    sum_for_cells(part, kinds, standardised, N, Y);
    const double* F = nullptr;
    if (!regular) {
        double* cells = Scratch::sized(scratch.F, part.cells * m).data();
        fill_by_cells(part, kinds, standardised, Y, Scratch::sized(scratch.V, m * m).data(), N, cells);
        F = cells;
    }
    add_moments(part, kinds, N, F, moments);
    Vector y(m), t(F ? m : 0), y_of_cells(part.cells), G(STRIP * size), gram(most * most);
    std::vector<const double*> columns(most + 4);
    for (std::size_t top = 0; top < n; top += STRIP) {
        const std::size_t end = std::min(top + STRIP, n), strip = end - top;
        for (std::size_t i = top; i < end; ++i) {
            std::copy_n(&Y[part.cell[0][i] * m], m, y.begin());
            for (std::size_t f = 1; f < factors; ++f) add(1.0, &Y[part.cell[f][i] * m], y.data(), m);
            for (std::size_t f = 0; f < factors; ++f) {
                const std::size_t q = design_->factors[f].size, levels = part.levels[f];
                for (std::size_t s = 0; s < kinds[f].z.size(); ++s)
                    combine(&standardised[f][s * q], static_cast<int>(q), &y[part.begin[f]], levels,
                            &y_of_cells[part.first_cell[f] + s * levels], levels);
            }
            double* row = &P[(i - top) * end];
            if (factors == 2) {
                gather_two(part.cell[0].data(), part.cell[1].data(), y_of_cells.data(), row, end);
            } else {
                std::fill_n(row, end, 0.0);
                for (std::size_t f = 0; f < factors; ++f) add_gathered(part.cell[f].data(), y_of_cells.data(), row, end);
            }
            square(row, end);
            if (F) {
                std::copy_n(&F[part.cell[0][i] * m], m, t.begin());
                for (std::size_t f = 1; f < factors; ++f) add(1.0, &F[part.cell[f][i] * m], t.data(), m);
                for (std::size_t k = 0; k < entries.size(); ++k) {
                    const Entry& entry = entries[k];
                    const std::size_t from = part.begin[entry.factor], levels = part.levels[entry.factor];
                    x[k * design_->n + part.first + i] -= dense::dot(&y[from + entry.column * levels], &t[from + entry.row * levels],
                                                                     static_cast<dense::Size>(levels));
                }
                continue;
            }
            // t = L'^-1 (z~ - y), so that only products of columns of y are needed
            for (std::size_t f = 0; f < factors; ++f) {
                const int q = design_->factors[f].size;
                const std::size_t levels = part.levels[f];
                std::fill(gram.begin(), gram.end(), 0.0);
                std::fill(columns.begin(), columns.end(), y.data());
                for (int a = 0; a < q; ++a) columns[a] = &y[part.begin[f] + a * levels];
                add_gram(columns.data(), q, levels, gram.data());
                const double* zt = &standardised[f][kinds[f].of_row[part.first + i] * static_cast<std::size_t>(q)];
                for (std::size_t k = 0; k < entries.size(); ++k) {
                    const Entry& entry = entries[k];
                    if (entry.factor != static_cast<int>(f)) continue;
                    const double there = y[part.at[f][i] + entry.column * levels];
                    double total = 0.0;
                    for (int b = entry.row; b < q; ++b)
                        total += inverse[f][b * q + entry.row] * (zt[b] * there - gram[entry.column * q + b]);
                    x[k * design_->n + part.first + i] -= total;
                }
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
