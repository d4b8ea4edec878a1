#include "crossed.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dense.hpp"
#include "rows.hpp"
#include "simd.hpp"
#include "sizes.hpp"

namespace ordbridge {
namespace {

using dense::Size;
constexpr double FULL = 0.25;  // share of all possible pairs from which a component's matrices are kept whole
constexpr double NOT_DEFINITE = std::numeric_limits<double>::quiet_NaN();

// Overwrite the q rows of U (q × n, `stride` apart) with A^-1 U, A lower triangular.
template <class Q>
ORDBRIDGE_INLINE void lower_solve(const double* A, Q q, double* U, Size n, Size stride) {
    for (int a = 0; a < q; ++a) {
        double* row = U + a * stride;
        for (int k = 0; k < a; ++k) {
            const double factor = A[a * q + k], *other = U + k * stride;
            for (Size b = 0; b < n; ++b) row[b] -= factor * other[b];
        }
        const double scale = 1.0 / A[a * q + a];
        for (Size b = 0; b < n; ++b) row[b] *= scale;
    }
}

// Overwrite them with A'^-1 U.
template <class Q>
ORDBRIDGE_INLINE void upper_solve(const double* A, Q q, double* U, Size n, Size stride) {
    for (int a = q - 1; a >= 0; --a) {
        double* row = U + a * stride;
        for (int k = a + 1; k < q; ++k) {
            const double factor = A[k * q + a], *other = U + k * stride;
            for (Size b = 0; b < n; ++b) row[b] -= factor * other[b];
        }
        const double scale = 1.0 / A[a * q + a];
        for (Size b = 0; b < n; ++b) row[b] *= scale;
    }
}

// Set the lower triangle of N to the inverse of A A'.
template <class Q>
ORDBRIDGE_INLINE void inverse_block(const double* A, Q q, double* N) {
    for (int a = 0; a < q; ++a) {  // column by column: first A^-1 e_a, then A'^-1 of it
        for (int b = a; b < q; ++b) {
            double total = a == b ? 1.0 : 0.0;
            for (int k = a; k < b; ++k) total -= A[b * q + k] * N[k * q + a];
            N[b * q + a] = total / A[b * q + b];
        }
        for (int b = q - 1; b >= a; --b) {
            double total = N[b * q + a];
            for (int k = b + 1; k < q; ++k) total -= A[k * q + b] * N[k * q + a];
            N[b * q + a] = total / A[b * q + b];
        }
    }
}

void mirror(Vector& blocks, int q, int from, int to) {
    for (int g = from; g < to; ++g) {
        double* block = &blocks[static_cast<std::size_t>(g) * q * q];
        for (int a = 0; a < q; ++a)
            for (int b = 0; b < a; ++b) block[b * q + a] = block[a * q + b];
    }
}

// y -= U'x for U with the given rows of n columns, some rows at a time, so that rounding does not add up over all of them
ORDBRIDGE_CLONES void subtract_product(const double* U, Size rows, Size n, const double* x, double* y) {
    constexpr Size AT_A_TIME = 32;
    Vector sum(n);
    for (Size top = 0; top < rows; top += AT_A_TIME) {
        std::fill(sum.begin(), sum.end(), 0.0);
        for (Size i = top; i < std::min(top + AT_A_TIME, rows); ++i) {
            const double factor = x[i], *row = U + i * n;
            double* to = sum.data();
#pragma omp simd
            for (Size k = 0; k < n; ++k) to[k] += factor * row[k];
        }
        for (Size k = 0; k < n; ++k) y[k] -= sum[k];
    }
}

// blocks += P_g P_g', lower triangles, for the q rows P_g of every level
ORDBRIDGE_CLONES void add_squares(const double* P, Size rows, Size n, int q, double* blocks) {
    for (Size top = 0; top < rows; top += q)
        for (int a = 0; a < q; ++a)
            for (int b = 0; b <= a; ++b) {
                const double *x = P + (top + a) * n, *y = P + (top + b) * n;
                double total = 0.0;
#pragma omp simd reduction(+ : total)
                for (Size k = 0; k < n; ++k) total += x[k] * y[k];
                blocks[(top + a) * q + b] += total;
            }
}

}  // namespace

CrossedElimination::CrossedElimination(const Design& design)
    : Elimination(design.effects),
      design_(design),
      first_(design.factors[0]),
      second_(design.factors.size() > 1 ? &design.factors[1] : nullptr),
      pairs_(second_ ? &design.pairs[0] : nullptr),
      q1_(first_.size),
      q2_(second_ ? second_->size : 0),
      A_(static_cast<std::size_t>(first_.levels) * q1_ * q1_) {
    if (!second_) return;
    bool some_sparse = false;
    for (int c = 0; c < design.components(); ++c) {
        Component own{first_.component[c], first_.component[c + 1], second_->component[c], second_->component[c + 1],
                      false, {}, {}, 0, 0};
        own.size = (own.last2 - own.first2) * q2_;
        own.rows = (own.last1 - own.first1) * q1_;
        const double possible = static_cast<double>(own.last1 - own.first1) * (own.last2 - own.first2);
        own.full = pairs_->begin[own.last1] - pairs_->begin[own.first1] > FULL * possible;
        own.S.resize(static_cast<std::size_t>(own.size) * own.size);
        if (own.full) own.U.resize(static_cast<std::size_t>(own.rows) * own.size);
        some_sparse = some_sparse || !own.full;
        components_.push_back(std::move(own));
    }
    if (some_sparse) U_.resize(static_cast<std::size_t>(pairs_->count()) * q1_ * q2_);
}

bool CrossedElimination::factorise_first(const BlockMatrix& M, double& logdet) {
    bool definite = true;
    with_size(q1_, [&](auto q) {
        double product = 1.0;
        for (int g = 0; g < first_.levels && definite; ++g) {
            const double* block = &M.own[0][static_cast<std::size_t>(g) * q * q];
            double* A = &A_[static_cast<std::size_t>(g) * q * q];
            for (int a = 0; a < q; ++a) {
                for (int b = 0; b < a; ++b) {
                    double total = block[a * q + b];
                    for (int k = 0; k < b; ++k) total -= A[a * q + k] * A[b * q + k];
                    A[a * q + b] = total / A[b * q + b];
                }
                double total = 1.0 + block[a * q + a];
                for (int k = 0; k < a; ++k) total -= A[a * q + k] * A[a * q + k];
                if (!(total > 0.0)) definite = false;
                product *= total;
                if (!(product < 1e250) || product < 1e-250) {
                    logdet += std::log(product);
                    product = 1.0;
                }
                A[a * q + a] = std::sqrt(total);
            }
        }
        logdet += std::log(product);
    });
    return definite && std::isfinite(logdet);
}

void CrossedElimination::fill(const Component& c, const Vector& blocks, double* out) const {
    if (pairs_->begin[c.last1] - pairs_->begin[c.first1] < static_cast<double>(c.last1 - c.first1) * (c.last2 - c.first2))
        std::fill(out, out + static_cast<std::size_t>(c.rows) * c.size, 0.0);
    with_sizes(q1_, q2_, [&](auto q1, auto q2) {
        for (int g = c.first1; g < c.last1; ++g) {
            double* top = out + static_cast<std::size_t>(g - c.first1) * q1 * c.size;
            for (int p = pairs_->begin[g]; p < pairs_->begin[g + 1]; ++p) {
                const double* block = &blocks[static_cast<std::size_t>(p) * q1 * q2];
                double* left = top + (pairs_->partner[p] - c.first2) * q2;
                for (int a = 0; a < q1; ++a)
                    for (int b = 0; b < q2; ++b) left[static_cast<std::size_t>(a) * c.size + b] = block[a * q2 + b];
            }
        }
    });
}

void CrossedElimination::add_to_diagonal(const Component& c, const Vector& M22, double* S) const {
    for (int h = c.first2; h < c.last2; ++h) {
        const int at = (h - c.first2) * q2_;
        for (int a = 0; a < q2_; ++a) {
            for (int b = 0; b < q2_; ++b)
                S[static_cast<std::size_t>(at + a) * c.size + at + b] +=
                    M22[(static_cast<std::size_t>(h) * q2_ + a) * q2_ + b];
            S[static_cast<std::size_t>(at + a) * c.size + at + a] += 1.0;
        }
    }
}

// Set the rows of U_g from the blocks of its pairs one after the other, and which columns of S they are.
void CrossedElimination::gather(const Component& c, int g, const double* blocks, Vector& U, std::vector<int>& columns) const {
    const int begin = pairs_->begin[g], width = (pairs_->begin[g + 1] - begin) * q2_;
    U.resize(static_cast<std::size_t>(q1_) * width);
    columns.resize(width);
    with_sizes(q1_, q2_, [&](auto q1, auto q2) {
        for (int p = begin; p < pairs_->begin[g + 1]; ++p, blocks += q1 * q2)
            for (int b = 0; b < q2; ++b) {
                const int at = (p - begin) * q2 + b;
                columns[at] = (pairs_->partner[p] - c.first2) * q2 + b;
                for (int a = 0; a < q1; ++a) U[static_cast<std::size_t>(a) * width + at] = blocks[a * q2 + b];
            }
    });
}

// S -= sum over the levels g of U_g'U_g, lower triangle (partners are sorted), where few pairs are in the data
void CrossedElimination::subtract_squares(Component& c) const {
    Vector U;
    std::vector<int> columns;
    for (int g = c.first1; g < c.last1; ++g) {
        gather(c, g, &U_[static_cast<std::size_t>(pairs_->begin[g]) * q1_ * q2_], U, columns);
        rows::subtract_square(U.data(), q1_, static_cast<int>(columns.size()), columns.data(), c.S.data(), c.size);
    }
}

double CrossedElimination::factorise(const BlockMatrix& M) {
    double logdet = 0.0;
    if (!factorise_first(M, logdet)) return NOT_DEFINITE;
    for (Component& c : components_) {
        std::fill(c.S.begin(), c.S.end(), 0.0);
        if (c.full) {
            fill(c, M.cross[0], c.U.data());
            with_size(q1_, [&](auto q) {
                for (int g = c.first1; g < c.last1; ++g)
                    lower_solve(&A_[static_cast<std::size_t>(g) * q * q], q,
                                &c.U[static_cast<std::size_t>(g - c.first1) * q * c.size], c.size, c.size);
            });
            const dense::View U = dense::view(c.U.data(), c.rows, c.size);
            dense::add_product(-1.0, U.transposed(), U, c.S.data(), c.size, dense::Part::lower);
        } else {
            with_sizes(q1_, q2_, [&](auto q1, auto q2) {
                for (int g = c.first1; g < c.last1; ++g)
                    for (int p = pairs_->begin[g]; p < pairs_->begin[g + 1]; ++p) {
                        double* U = &U_[static_cast<std::size_t>(p) * q1 * q2];
                        std::copy_n(&M.cross[0][static_cast<std::size_t>(p) * q1 * q2], q1 * q2, U);
                        lower_solve(&A_[static_cast<std::size_t>(g) * q1 * q1], q1, U, q2, q2);
                    }
            });
            subtract_squares(c);
        }
        add_to_diagonal(c, M.own[1], c.S.data());
        if (!dense::cholesky(c.S.data(), c.size, c.size)) return NOT_DEFINITE;
        for (int a = 0; a < c.size; ++a) logdet += 2.0 * std::log(c.S[static_cast<std::size_t>(a) * c.size + a]);
    }
    return logdet;
}

void CrossedElimination::forward(Vector& x) const {
    with_size(q1_, [&](auto q) {
        for (int g = 0; g < first_.levels; ++g)
            lower_solve(&A_[static_cast<std::size_t>(g) * q * q], q, first_.of(x, g), 1, 1);
    });
    for (const Component& c : components_) {
        const double* x1 = first_.of(x, c.first1);
        double* x2 = second_->of(x, c.first2);
        if (c.full) {
            subtract_product(c.U.data(), c.rows, c.size, x1, x2);
        } else {
            with_sizes(q1_, q2_, [&](auto q1, auto q2) {
                for (int g = c.first1; g < c.last1; ++g)
                    for (int p = pairs_->begin[g]; p < pairs_->begin[g + 1]; ++p) {
                        const double *U = &U_[static_cast<std::size_t>(p) * q1 * q2], *own = first_.of(x, g);
                        double* other = second_->of(x, pairs_->partner[p]);
                        for (int k = 0; k < q1; ++k)
                            for (int b = 0; b < q2; ++b) other[b] -= U[k * q2 + b] * own[k];
                    }
            });
        }
        dense::solve_lower(c.S.data(), c.size, x2);
    }
}

void CrossedElimination::backward(Vector& x) const {
    for (const Component& c : components_) {
        double *x1 = first_.of(x, c.first1), *x2 = second_->of(x, c.first2);
        dense::solve_lower_transposed(c.S.data(), c.size, x2);
        if (c.full) {
            for (int i = 0; i < c.rows; ++i) x1[i] -= dense::dot(&c.U[static_cast<std::size_t>(i) * c.size], x2, c.size);
            continue;
        }
        with_sizes(q1_, q2_, [&](auto q1, auto q2) {
            for (int g = c.first1; g < c.last1; ++g)
                for (int p = pairs_->begin[g]; p < pairs_->begin[g + 1]; ++p) {
                    const double* U = &U_[static_cast<std::size_t>(p) * q1 * q2];
                    const double* other = second_->of(x, pairs_->partner[p]);
                    double* own = first_.of(x, g);
                    for (int k = 0; k < q1; ++k)
                        for (int b = 0; b < q2; ++b) own[k] -= U[k * q2 + b] * other[b];
                }
        });
    }
    with_size(q1_, [&](auto q) {
        for (int g = 0; g < first_.levels; ++g)
            upper_solve(&A_[static_cast<std::size_t>(g) * q * q], q, first_.of(x, g), 1, 1);
    });
}

void CrossedElimination::inverse_of_first(BlockMatrix& N) const {
    with_size(q1_, [&](auto q) {
        for (int g = 0; g < first_.levels; ++g)
            inverse_block(&A_[static_cast<std::size_t>(g) * q * q], q, &N.own[0][static_cast<std::size_t>(g) * q * q]);
    });
}

void CrossedElimination::store_second(const Component& c, const Vector& N22, BlockMatrix& N) const {
    for (int h = c.first2; h < c.last2; ++h) {
        const int at = (h - c.first2) * q2_;
        double* block = &N.own[1][static_cast<std::size_t>(h) * q2_ * q2_];
        for (int a = 0; a < q2_; ++a)
            for (int b = 0; b < q2_; ++b) block[a * q2_ + b] = N22[static_cast<std::size_t>(at + a) * c.size + at + b];
    }
}

// W = A^-1 C of a full component
Vector CrossedElimination::weights(const Component& c) const {
    Vector W = c.U;
    with_size(q1_, [&](auto q) {
        for (int g = c.first1; g < c.last1; ++g)
            upper_solve(&A_[static_cast<std::size_t>(g) * q * q], q, &W[static_cast<std::size_t>(g - c.first1) * q * c.size],
                        c.size, c.size);
    });
    return W;
}

void CrossedElimination::inverse_full(const Component& c, const Vector& N22, BlockMatrix& N) const {
    const Vector W = weights(c);
    Vector product(W.size());
    dense::add_product(1.0, dense::view(W.data(), c.rows, c.size), dense::view(N22.data(), c.size, c.size),
                       product.data(), c.size);
    with_sizes(q1_, q2_, [&](auto q1, auto q2) {
        for (int g = c.first1; g < c.last1; ++g) {
            const std::size_t top = static_cast<std::size_t>(g - c.first1) * q1 * c.size;
            double* own = &N.own[0][static_cast<std::size_t>(g) * q1 * q1];
            for (int a = 0; a < q1; ++a)
                for (int b = 0; b <= a; ++b)
                    own[a * q1 + b] += dense::dot(&product[top + static_cast<std::size_t>(a) * c.size],
                                                  &W[top + static_cast<std::size_t>(b) * c.size], c.size);
            for (int p = pairs_->begin[g]; p < pairs_->begin[g + 1]; ++p) {
                double* block = &N.cross[0][static_cast<std::size_t>(p) * q1 * q2];
                const double* left = &product[top + static_cast<std::size_t>(pairs_->partner[p] - c.first2) * q2];
                for (int a = 0; a < q1; ++a)
                    for (int b = 0; b < q2; ++b) block[a * q2 + b] = -left[static_cast<std::size_t>(a) * c.size + b];
            }
        }
    });
}

void CrossedElimination::inverse_by_pairs(const Component& c, const Vector& N22, BlockMatrix& N) const {
    Vector W, across;
    std::vector<int> columns;
    for (int g = c.first1; g < c.last1; ++g) {
        const int begin = pairs_->begin[g], end = pairs_->begin[g + 1];
        gather(c, g, &U_[static_cast<std::size_t>(begin) * q1_ * q2_], W, columns);
        const int width = static_cast<int>(columns.size());
        with_size(q1_, [&](auto q) { upper_solve(&A_[static_cast<std::size_t>(g) * q * q], q, W.data(), width, width); });
        across.assign(W.size(), 0.0);
        rows::subtract_product(W.data(), q1_, width, columns.data(), N22.data(), c.size, across.data());
        double* own = &N.own[0][static_cast<std::size_t>(g) * q1_ * q1_];
        for (int a = 0; a < q1_; ++a)
            for (int b = 0; b <= a; ++b)
                own[a * q1_ + b] -= dense::dot(&across[static_cast<std::size_t>(a) * width], &W[static_cast<std::size_t>(b) * width], width);
        with_sizes(q1_, q2_, [&](auto q1, auto q2) {
            for (int p = begin; p < end; ++p) {
                double* block = &N.cross[0][static_cast<std::size_t>(p) * q1 * q2];
                for (int a = 0; a < q1; ++a)
                    for (int b = 0; b < q2; ++b) block[a * q2 + b] = across[static_cast<std::size_t>(a) * width + (p - begin) * q2 + b];
            }
        });
    }
}

void CrossedElimination::selected_inverse(BlockMatrix& N) {
    inverse_of_first(N);
    Vector N22;
    for (const Component& c : components_) {
        N22.resize(c.S.size());
        dense::inverse(c.S.data(), c.size, N22.data());
        store_second(c, N22, N);
        if (c.full)
            inverse_full(c, N22, N);
        else
            inverse_by_pairs(c, N22, N);
    }
    mirror(N.own[0], q1_, 0, first_.levels);
}

// Where in `out` the effects of factor 1, and then those of factor 2, of a component belong.
std::vector<std::size_t> CrossedElimination::places(int component, const std::vector<int>& effects) const {
    const int first = first_.component[component], own = (first_.component[component + 1] - first) * q1_;
    std::vector<std::size_t> place(effects.size());
    for (std::size_t k = 0; k < effects.size(); ++k) {
        const int effect = effects[k];
        place[effect < own + first_.offset + first * q1_ && effect >= first_.offset + first * q1_
                  ? effect - first_.offset - first * q1_
                  : own + effect - second_->offset - second_->component[component] * q2_] = k;
    }
    return place;
}

// N12 = -W N22 and N11 = A^-1 - N12 W' where W has few columns in every row: some effects at a time, side by side.
void CrossedElimination::dense_inverse_by_pairs(const Component& c, const std::vector<std::size_t>& place, double* out) const {
    const std::size_t m = place.size(), own = c.rows, size = c.size;
    Vector N22(c.S.size()), W, one, N12(own * size, 0.0), block(static_cast<std::size_t>(q1_) * q1_);
    std::vector<int> columns, at;
    std::vector<std::size_t> begin;  // of the rows of every level in W, and of their columns in `at`
    dense::inverse(c.S.data(), c.size, N22.data());
    for (int g = c.first1; g < c.last1; ++g) {
        gather(c, g, &U_[static_cast<std::size_t>(pairs_->begin[g]) * q1_ * q2_], one, columns);
        const int width = static_cast<int>(columns.size());
        with_size(q1_, [&](auto q) { upper_solve(&A_[static_cast<std::size_t>(g) * q * q], q, one.data(), width, width); });
        rows::subtract_whole(one.data(), q1_, width, columns.data(), N22.data(), c.size,
                             &N12[static_cast<std::size_t>(g - c.first1) * q1_ * size]);
        begin.push_back(at.size());
        W.insert(W.end(), one.begin(), one.end());
        at.insert(at.end(), columns.begin(), columns.end());
    }
    begin.push_back(at.size());
    const std::size_t levels = c.last1 - c.first1;
    constexpr std::size_t WIDE = rows::WIDE;
    Vector strip(size * WIDE), sums(static_cast<std::size_t>(q1_) * WIDE);
    for (int a = 0; a < q1_; ++a)
        for (std::size_t top = 0; top < levels; top += WIDE) {
            const std::size_t count = std::min(WIDE, levels - top);
            std::fill(strip.begin(), strip.end(), 0.0);
            std::size_t where[WIDE];
            bool together = true;  // next to each other
            for (std::size_t i = 0; i < count; ++i) {
                where[i] = place[(top + i) * q1_ + a];
                together = together && where[i] == where[0] + i;
                const double* row = &N12[((top + i) * q1_ + a) * size];
                for (std::size_t k = 0; k < size; ++k) strip[k * WIDE + i] = row[k];
            }
            for (std::size_t g = 0; g < levels; ++g) {
                const int width = static_cast<int>(begin[g + 1] - begin[g]);
                rows::products_with_strip(&W[begin[g] * q1_], q1_, width, &at[begin[g]], strip.data(), sums.data());
                for (int b = 0; b < q1_; ++b) {
                    double* to = &out[place[g * q1_ + b] * m];
                    const double* from = &sums[b * WIDE];
                    if (together)
                        for (std::size_t i = 0; i < count; ++i) to[where[0] + i] = -from[i];
                    else
                        for (std::size_t i = 0; i < count; ++i) to[where[i]] = -from[i];
                }
            }
        }
    for (std::size_t g = 0; g < levels; ++g) {
        inverse_block(&A_[(c.first1 + g) * q1_ * q1_], q1_, block.data());
        for (int a = 0; a < q1_; ++a)
            for (int b = 0; b < q1_; ++b)
                out[place[g * q1_ + a] * m + place[g * q1_ + b]] += block[std::max(a, b) * q1_ + std::min(a, b)];
    }
    for (std::size_t j = 0; j < own; ++j)
        for (std::size_t k = 0; k < size; ++k) out[place[j] * m + place[own + k]] = N12[j * size + k];
    constexpr std::size_t TILE = 16;
    for (std::size_t k = 0; k < size; ++k)
        for (std::size_t j = 0; j < size; ++j) out[place[own + k] * m + place[own + j]] = N22[k * size + j];
    for (std::size_t top = 0; top < size; top += TILE)
        for (std::size_t j = 0; j < own; ++j)
            for (std::size_t k = top; k < std::min(top + TILE, size); ++k) out[place[own + k] * m + place[j]] = N12[j * size + k];
}

// With W = A^-1 C whole, N12 = -W N22 and N11 = A^-1 - N12 W'.
void CrossedElimination::dense_inverse(int component, const std::vector<int>& effects, double* out) const {
    const std::size_t m = effects.size();
    const int first = first_.component[component], last = first_.component[component + 1];
    const int own = (last - first) * q1_, size = static_cast<int>(m) - own;
    const std::vector<std::size_t> place = places(component, effects);
    if (second_ && !components_[component].full) return dense_inverse_by_pairs(components_[component], place, out);
    Vector N11(static_cast<std::size_t>(own) * own, 0.0), block(static_cast<std::size_t>(q1_) * q1_);
    for (int g = first; g < last; ++g) {
        inverse_block(&A_[static_cast<std::size_t>(g) * q1_ * q1_], q1_, block.data());
        for (int a = 0; a < q1_; ++a)
            for (int b = 0; b <= a; ++b)
                N11[static_cast<std::size_t>((g - first) * q1_ + a) * own + (g - first) * q1_ + b] = block[a * q1_ + b];
    }
    if (second_) {
        const Component& c = components_[component];
        Vector W(c.U), N22(c.S.size()), N12(static_cast<std::size_t>(own) * size, 0.0);
        with_size(q1_, [&](auto q) {
            for (int g = first; g < last; ++g)
                upper_solve(&A_[static_cast<std::size_t>(g) * q * q], q, &W[static_cast<std::size_t>(g - first) * q * size], size, size);
        });
        dense::inverse(c.S.data(), size, N22.data());
        const dense::View weights = dense::view(W.data(), own, size), across = dense::view(N12.data(), own, size);
        dense::add_product(-1.0, weights, dense::view(N22.data(), size, size), N12.data(), size);
        dense::add_product(-1.0, across, weights.transposed(), N11.data(), own, dense::Part::lower);
        for (int j = 0; j < size; ++j)
            for (int k = 0; k < size; ++k) out[place[own + j] * m + place[own + k]] = N22[static_cast<std::size_t>(j) * size + k];
        for (int j = 0; j < own; ++j)
            for (int k = 0; k < size; ++k)
                out[place[j] * m + place[own + k]] = N12[static_cast<std::size_t>(j) * size + k];
    }
    for (int j = 0; j < own; ++j)
        for (int k = 0; k <= j; ++k)
            out[place[j] * m + place[k]] = N11[static_cast<std::size_t>(j) * own + k];
    std::vector<int> rank(m, 0);
    for (int j = 0; j < own; ++j) rank[place[j]] = 1 + j;
    mirror(rank, out);
}

double CrossedElimination::dense_cost(int component, std::size_t effects) const {
    const double own = static_cast<double>(first_.component[component + 1] - first_.component[component]) * q1_;
    const double size = static_cast<double>(effects) - own;
    if (second_ && !components_[component].full) {
        const Component& c = components_[component];
        const double width = static_cast<double>(pairs_->begin[c.last1] - pairs_->begin[c.first1]) / (c.last1 - c.first1) * q2_;
        return own * (own + size) * width + size * size * size;
    }
    return 0.5 * own * own * size + own * size * size + size * size * size;
}

double CrossedElimination::cost() const {
    double total = 0.0;
    for (const Component& c : components_) {
        const double width = pairs_->begin[c.last1] - pairs_->begin[c.first1];
        const double share = c.full ? 1.0 : width / (static_cast<double>(c.last1 - c.first1) * (c.last2 - c.first2));
        total += std::pow(c.size, 3) + 2.0 * c.rows * std::pow(share * c.size, 2);
    }
    return total;
}

// In a full component, with X = chol(S)^-1: N22 = X'X, and N11 = A^-1 + (W X')(W X')'.
void CrossedElimination::diagonal_inverse(BlockMatrix& N) {
    inverse_of_first(N);
    Vector X;
    for (const Component& c : components_) {
        X.resize(c.S.size());
        if (!c.full) {
            dense::inverse(c.S.data(), c.size, X.data());
            store_second(c, X, N);
            inverse_by_pairs(c, X, N);
            continue;
        }
        dense::invert_lower(c.S.data(), c.size, X.data());
        const Vector W = weights(c);
        Vector product(W.size());
        dense::add_times_transposed(dense::view(W.data(), c.rows, c.size), X.data(), c.size, product.data(), c.size);
        add_squares(product.data(), c.rows, c.size, q1_, &N.own[0][static_cast<std::size_t>(c.first1) * q1_ * q1_]);
        double* own = &N.own[1][static_cast<std::size_t>(c.first2) * q2_ * q2_];
        std::fill_n(own, static_cast<std::size_t>(c.size) * q2_, 0.0);
        with_size(q2_, [&](auto q2) {
            for (int k = 0; k < c.size; ++k) {  // row k of X ends at its diagonal
                const double* row = &X[static_cast<std::size_t>(k) * c.size];
                for (int left = 0; left <= k; left += q2)
                    for (int a = 0; a < q2; ++a)
                        for (int b = 0; b <= a; ++b) own[(left + a) * q2 + b] += row[left + a] * row[left + b];
            }
        });
    }
    mirror(N.own[0], q1_, 0, first_.levels);
    if (second_) mirror(N.own[1], q2_, 0, second_->levels);
}

}  // namespace ordbridge
