// Moments of Q = Z'V^-1 Z for three and more grouping factors (moments.hpp), with a family eliminated as in family.hpp.
//
// The rows y of Y belong to the family's effects, B is block diagonal, and with T and E over the rest
//
//     Q11 = B - Y T Y',   Q12 = Y E,   Q22.
//
// Where L cannot be inverted these are those of moments.hpp, E = I - T K and Q22 = K E. Where it can, L'Q L = I - N, so that
// with B = I - A^-1, Y = W, T = E = N22 and Q22 = I - N22 they are known already; the moments are then taken back by L^-1.
// With S_ik the sum of y_i y_k' over the levels of a factor of the family, i and k its effects,
//
//     sum over pairs of levels of (Y T Y')[i, j] (Y T Y')[k, l] = tr(T S_jl T S_ki),   of Q12[i, j] Q12[k, l] = E_j'S_ik E_l.
//
// Where the rows of Y have few entries, the rows of Y T Y' and of Y E are made instead, some at a time.
#include <algorithm>

#include "dense.hpp"
#include "family.hpp"
#include "information.hpp"
#include "moments.hpp"
#include "rows.hpp"

namespace ordbridge {
namespace {

using dense::view;
constexpr double SLOW = 4.0;      // how much longer a multiplication of scattered rows takes than one of whole matrices
constexpr double REGULAR = 1e-2;  // diagonals of L above it: then I - N has lost no more than four digits

struct Effect {
    int factor, index, level;
};

// out[i, j, k, l] += left[i, j] * right[k, l], all p × q
void add_outer(const double* left, const double* right, int count, double factor, double* out) {
    for (int x = 0; x < count; ++x)
        for (int y = 0; y < count; ++y) out[x * count + y] += factor * left[x] * right[y];
}

Vector product(const double* A, const double* B, int m) {
    Vector out(static_cast<std::size_t>(m) * m, 0.0);
    dense::add_product(1.0, view(A, m, m), view(B, m, m), out.data(), m);
    return out;
}

// L^-1, or L, of all factors' effects in a list times the rows of X: only needed for T = L N22 L'
void multiply_rows_by_L(const std::vector<Effect>& effects, const Design& design, const Cholesky& L, Vector& X, int m) {
    for (int top = 0; top < m;) {
        const int f = effects[top].factor, q = design.factors[f].size;
        for (int a = q - 1; a >= 0; --a) {
            double* row = &X[static_cast<std::size_t>(top + a) * m];
            for (int j = 0; j < m; ++j) row[j] *= L[f][a * q + a];
            for (int b = 0; b < a; ++b) {
                const double factor = L[f][a * q + b], *other = &X[static_cast<std::size_t>(top + b) * m];
                if (factor == 0.0) continue;
                for (int j = 0; j < m; ++j) row[j] += factor * other[j];
            }
        }
        top += q;
    }
}

void transpose(Vector& X, int m) {
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < i; ++j) std::swap(X[static_cast<std::size_t>(i) * m + j], X[static_cast<std::size_t>(j) * m + i]);
}

void mirror(double* X, int m) {
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < i; ++j) X[static_cast<std::size_t>(j) * m + i] = X[static_cast<std::size_t>(i) * m + j];
}

class FamilyMoments {
  public:
    FamilyMoments(const Design& design, const FamilyElimination& elimination, const BlockMatrix& M, const Cholesky& L, Moments& out)
        : design_(design), elimination_(elimination), L_(L), out_(out), regular_(is_regular(design, L, REGULAR)) {
        effects_.resize(design.effects);
        for (std::size_t f = 0; f < design.factors.size(); ++f)
            for (int g = 0; g < design.factors[f].levels; ++g)
                for (int a = 0; a < design.factors[f].size; ++a)
                    effects_[design.factors[f].offset + g * design.factors[f].size + a] = {static_cast<int>(f), a, g};
        if (!regular_) raw_ = elimination.unfactored(M);
        for (const auto& c : elimination.components()) add(c);
        if (regular_) take_back();
    }

  private:
    int size(int f) const { return design_.factors[f].size; }
    double& moment(int f, int g, int i, int j, int k, int l) {  // of Q_fg; kept for f <= g
        if (f > g) return moment(g, f, j, i, l, k);
        return out_.pair[f * out_.factors + g][((i * size(g) + j) * size(f) + k) * size(g) + l];
    }

    // B and y of one block (b × b and b × width), and what it takes from K.
    void rows_of(const FamilyElimination::Component& c, const FamilyElimination::Block& block, Vector& B, Vector& y) {
        const int b = block.size, w = block.width;
        const double* A = &elimination_.factors()[block.A];
        Vector inverse(static_cast<std::size_t>(b) * b), R(inverse.size());
        dense::inverse(A, b, inverse.data());
        B.assign(inverse.size(), 0.0);
        y.assign(static_cast<std::size_t>(b) * w, 0.0);
        if (regular_) {
            for (std::size_t i = 0; i < B.size(); ++i) B[i] = -inverse[i];
            for (int a = 0; a < b; ++a) B[static_cast<std::size_t>(a) * b + a] += 1.0;
            dense::invert_lower(A, b, R.data());  // W = R'^-1 U
            if (w) dense::add_product(1.0, view(R.data(), b, b).transposed(), view(&elimination_.factors()[block.U], b, w), y.data(), w);
            return;
        }
        std::vector<Effect> own;
        for (int e : block.effects) own.push_back(effects_[e]);
        multiply_rows_by_L(own, design_, L_, inverse, b);
        transpose(inverse, b);
        multiply_rows_by_L(own, design_, L_, inverse, b);  // D, which is symmetric
        const double *M11 = &raw_[block.A], *M12 = raw_.data() + block.U;
        const Vector MD = product(M11, inverse.data(), b);
        std::copy_n(M11, B.size(), B.data());
        dense::add_product(-1.0, view(MD.data(), b, b), view(M11, b, b), B.data(), b);
        if (!w) return;
        std::copy_n(M12, y.size(), y.data());
        dense::add_product(-1.0, view(MD.data(), b, b), view(M12, b, w), y.data(), w);
        Vector DM(y.size(), 0.0);
        dense::add_product(1.0, view(inverse.data(), b, b), view(M12, b, w), DM.data(), w);
        for (int i = 0; i < w; ++i)
            for (int k = 0; k < b; ++k) {
                const double factor = M12[static_cast<std::size_t>(k) * w + i], *other = &DM[static_cast<std::size_t>(k) * w];
                double* row = &K_[static_cast<std::size_t>(block.columns[i]) * c.size];
                if (factor == 0.0) continue;
                for (int j = 0; j < w; ++j) row[block.columns[j]] -= factor * other[j];
            }
    }

    // S_ik += y_i y_k' of the levels of a block
    void add_squares(const FamilyElimination::Component& c, const FamilyElimination::Block& block, const Vector& y) {
        const int w = block.width;
        for (int e = 0; e < block.size; ++e)
            for (int other = e - effects_[block.effects[e]].index; other <= e; ++other) {
                const Effect &one = effects_[block.effects[e]], &two = effects_[block.effects[other]];
                Vector& S = squares(one.factor, one.index, two.index, c.size);
                const double *left = &y[static_cast<std::size_t>(e) * w], *right = &y[static_cast<std::size_t>(other) * w];
                for (int i = 0; i < w; ++i) {
                    double* row = &S[static_cast<std::size_t>(block.columns[i]) * c.size];
                    const double factor = left[i];
                    if (factor == 0.0) continue;
                    for (int j = 0; j < w; ++j) row[block.columns[j]] += factor * right[j];
                }
            }
    }

    Vector& squares(int f, int i, int k, int m) {  // for i >= k; the others are their transposes
        Vector& found = S_[f][i * size(f) + k];
        if (found.empty()) found.assign(static_cast<std::size_t>(m) * m, 0.0);
        return found;
    }

    // Terms of single blocks: B B - B t - t B, and the sums of B - t, t = y T y'
    void add_block(const FamilyElimination::Component& c, const FamilyElimination::Block& block, const Vector& B, const Vector& y) {
        const int b = block.size, w = block.width;
        Vector Ty(static_cast<std::size_t>(b) * w, 0.0), t(static_cast<std::size_t>(b) * b, 0.0), one, two;
        for (int i = 0; i < w; ++i) {
            const double* row = &T_[static_cast<std::size_t>(block.columns[i]) * c.size];
            for (int k = 0; k < b; ++k) {
                const double factor = y[static_cast<std::size_t>(k) * w + i];
                if (factor == 0.0) continue;
                for (int j = 0; j < w; ++j) Ty[static_cast<std::size_t>(k) * w + j] += factor * row[block.columns[j]];
            }
        }
        for (int a = 0; a < b; ++a)
            for (int k = 0; k < b; ++k)
                t[static_cast<std::size_t>(a) * b + k] = dense::dot(&Ty[static_cast<std::size_t>(a) * w], &y[static_cast<std::size_t>(k) * w], w);
        for (int top = 0; top < b; top += size(effects_[block.effects[top]].factor))
            for (int left = 0; left < b; left += size(effects_[block.effects[left]].factor)) {
                const int f = effects_[block.effects[top]].factor, g = effects_[block.effects[left]].factor;
                if (f > g) continue;
                const int p = size(f), q = size(g);
                one.clear();
                two.clear();
                for (int i = 0; i < p; ++i)
                    for (int j = 0; j < q; ++j) {
                        one.push_back(B[static_cast<std::size_t>(top + i) * b + left + j]);
                        two.push_back(t[static_cast<std::size_t>(top + i) * b + left + j]);
                    }
                double* to = out_.pair[f * out_.factors + g].data();
                add_outer(one.data(), one.data(), p * q, 1.0, to);
                add_outer(one.data(), two.data(), p * q, -1.0, to);
                add_outer(two.data(), one.data(), p * q, -1.0, to);
                for (int i = 0; top == left && i < p * q; ++i) out_.own[f][i] += one[i] - two[i];
            }
    }

    // K, T, E and Q22 of the rest, K without what the blocks take from it
    void make_rest(const FamilyElimination::Component& c) {
        const int m = c.size;
        const double* N22 = elimination_.inverse().data() + c.S;
        T_.assign(N22, N22 + static_cast<std::size_t>(m) * m);
        if (regular_) return;
        rest_.clear();
        for (int e : c.effects) rest_.push_back(effects_[e]);
        multiply_rows_by_L(rest_, design_, L_, T_, m);
        transpose(T_, m);
        multiply_rows_by_L(rest_, design_, L_, T_, m);
        K_.assign(raw_.begin() + c.S, raw_.begin() + c.S + static_cast<std::size_t>(m) * m);
        mirror(K_.data(), m);
    }

    void add(const FamilyElimination::Component& c) {
        const int m = c.size;
        make_rest(c);
        const bool by_rows = few_columns(c);
        S_.assign(out_.factors, {});
        for (int f = 0; f < out_.factors; ++f) S_[f].assign(size(f) * size(f), {});
        std::vector<Vector> Y(by_rows ? c.last - c.first : 1);
        Vector B;
        for (std::size_t g = c.first; g < c.last; ++g) {
            const auto& block = elimination_.blocks()[g];
            Vector& y = Y[by_rows ? g - c.first : 0];
            rows_of(c, block, B, y);
            if (!by_rows) add_squares(c, block, y);
            add_block(c, block, B, y);
        }
        if (m == 0) return;
        Vector E, Q22;
        if (regular_) {
            Q22 = T_;
            for (double& value : Q22) value = -value;
            for (int i = 0; i < m; ++i) Q22[static_cast<std::size_t>(i) * m + i] += 1.0;
        } else {
            E = product(T_.data(), K_.data(), m);
            for (double& value : E) value = -value;
            for (int i = 0; i < m; ++i) E[static_cast<std::size_t>(i) * m + i] += 1.0;
            Q22 = product(K_.data(), E.data(), m);
        }
        add_rest(c, Q22);
        if (by_rows)
            add_products_of_rows(c, Y, regular_ ? T_ : E);
        else
            add_products(c, regular_ ? T_ : E);
    }

    bool few_columns(const FamilyElimination::Component& c) const {
        double entries = 0.0, squares = 0.0;
        for (std::size_t g = c.first; g < c.last; ++g) entries += static_cast<double>(elimination_.blocks()[g].size) * elimination_.blocks()[g].width;
        for (int f = 0; f < out_.factors; ++f)
            if (elimination_.eliminated(f)) squares += size(f) * size(f);
        return SLOW * entries * (c.rows + c.size) < squares * c.size * c.size * c.size;
    }

    // The same products, of the rows of Y T Y' with each other and of the columns of Y E. Rows of the family are numbered factor
    // by factor, effect by effect, level by level.
    void add_products_of_rows(const FamilyElimination::Component& c, const std::vector<Vector>& Y, const Vector& E) {
        const int m = c.size, rows = c.rows;
        std::vector<int> levels(out_.factors, 0), first(out_.factors, 0), seen(out_.factors, 0), place;
        for (std::size_t g = c.first; g < c.last; ++g)
            for (int e : elimination_.blocks()[g].effects)
                if (effects_[e].index == 0) ++levels[effects_[e].factor];
        for (int f = 0, next = 0; f < out_.factors; next += levels[f] * size(f), ++f) first[f] = next;
        for (std::size_t g = c.first; g < c.last; ++g)
            for (int e : elimination_.blocks()[g].effects) {
                const int f = effects_[e].factor, index = effects_[e].index;
                place.push_back(first[f] + index * levels[f] + seen[f]);
                if (index == size(f) - 1) ++seen[f];
            }
        const auto transposed = [&](const Vector& right) {  // (Y right)', but for its sign
            Vector out(static_cast<std::size_t>(m) * rows), own;
            auto to = place.begin();
            for (std::size_t g = c.first; g < c.last; ++g) {
                const auto& block = elimination_.blocks()[g];
                own.assign(static_cast<std::size_t>(block.size) * m, 0.0);
                rows::subtract_whole(Y[g - c.first].data(), block.size, block.width, block.columns.data(), right.data(), m, own.data());
                for (int a = 0; a < block.size; ++a, ++to)
                    for (int j = 0; j < m; ++j) out[static_cast<std::size_t>(j) * rows + *to] = own[static_cast<std::size_t>(a) * m + j];
            }
            return out;
        };
        // moments of factor f with g, of which x and y, two of g's effects, have a row each
        const auto add_dots = [&](int f, int g, int j, const double* x, int l, const double* y) {
            for (int i = 0; i < size(f); ++i)
                for (int k = 0; k < size(f); ++k)
                    moment(f, g, i, j, k, l) += dense::dot(x + first[f] + i * levels[f], y + first[f] + k * levels[f], levels[f]);
        };
        const Vector TY = transposed(T_), EY = regular_ ? Vector() : transposed(E);
        Vector own;
        for (std::size_t g = c.first; g < c.last; ++g) {
            const auto& block = elimination_.blocks()[g];
            own.assign(static_cast<std::size_t>(block.size) * rows, 0.0);
            rows::subtract_whole(Y[g - c.first].data(), block.size, block.width, block.columns.data(), TY.data(), rows, own.data());
            for (int top = 0; top < block.size; top += size(effects_[block.effects[top]].factor)) {
                const int h = effects_[block.effects[top]].factor, q = size(h);
                for (int f = 0; f <= h; ++f)
                    for (int j = 0; elimination_.eliminated(f) && j < q; ++j)
                        for (int l = 0; l < q; ++l)
                            add_dots(f, h, j, &own[static_cast<std::size_t>(top + j) * rows], l, &own[static_cast<std::size_t>(top + l) * rows]);
            }
        }
        const Vector& across = regular_ ? TY : EY;
        for (int top = 0; top < m; top += size(effects_[c.effects[top]].factor)) {
            const int h = effects_[c.effects[top]].factor, q = size(h);
            for (int f = 0; f < out_.factors; ++f)
                for (int j = 0; elimination_.eliminated(f) && j < q; ++j)
                    for (int l = 0; l < q; ++l)
                        add_dots(f, h, j, &across[static_cast<std::size_t>(top + j) * rows], l, &across[static_cast<std::size_t>(top + l) * rows]);
        }
    }

    // Moments between factors of the rest
    void add_rest(const FamilyElimination::Component& c, const Vector& Q22) {
        const int m = c.size;
        Vector block;
        for (int top = 0; top < m; top += size(effects_[c.effects[top]].factor))
            for (int left = 0; left < m; left += size(effects_[c.effects[left]].factor)) {
                const int f = effects_[c.effects[top]].factor, g = effects_[c.effects[left]].factor, p = size(f), q = size(g);
                if (f > g) continue;
                if (p * q == 1) {
                    const double value = Q22[static_cast<std::size_t>(top) * m + left];
                    out_.pair[f * out_.factors + g][0] += value * value;
                    if (top == left) out_.own[f][0] += value;
                    continue;
                }
                block.clear();
                for (int i = 0; i < p; ++i)
                    for (int j = 0; j < q; ++j) block.push_back(Q22[static_cast<std::size_t>(top + i) * m + left + j]);
                add_outer(block.data(), block.data(), p * q, 1.0, out_.pair[f * out_.factors + g].data());
                for (int i = 0; top == left && i < p * q; ++i) out_.own[f][i] += block[i];
            }
    }

    // tr(T S_jl T S_ki) and E_j'S_ik E_l
    void add_products(const FamilyElimination::Component& c, const Vector& E) {
        const int m = c.size;
        std::vector<std::vector<Vector>> TS(out_.factors);
        for (int f = 0; f < out_.factors; ++f) {
            if (!elimination_.eliminated(f)) continue;
            const int p = size(f);
            for (int i = 0; i < p; ++i)
                for (int k = 0; k < p; ++k) {
                    Vector S = squares(f, std::max(i, k), std::min(i, k), m);
                    if (i < k) transpose(S, m);
                    TS[f].push_back(product(T_.data(), S.data(), m));
                    add_across(c, f, i, k, E, regular_ ? TS[f].back() : product(S.data(), E.data(), m));
                }
        }
        for (int f = 0; f < out_.factors; ++f)
            for (int g = f; g < out_.factors; ++g) {
                if (TS[f].empty() || TS[g].empty()) continue;
                const int p = size(f), q = size(g);
                for (int j = 0; j < q; ++j)
                    for (int l = 0; l < q; ++l) {
                        Vector left = TS[g][j * q + l];
                        transpose(left, m);
                        for (int i = 0; i < p; ++i)
                            for (int k = 0; k < p; ++k)
                                moment(f, g, i, j, k, l) += dense::dot(left.data(), TS[f][k * p + i].data(), static_cast<dense::Size>(m) * m);
                    }
            }
    }

    // sum over the levels of every factor of the rest of E_j'(S_ik E_l); `half` is S_ik E, or E S_ik where E is symmetric
    void add_across(const FamilyElimination::Component& c, int f, int i, int k, const Vector& E, const Vector& half) {
        const int m = c.size;
        for (int top = 0; top < m; top += size(effects_[c.effects[top]].factor)) {
            const int g = effects_[c.effects[top]].factor, q = size(g);
            for (int j = 0; j < q; ++j)
                for (int l = 0; l < q; ++l) {
                    double total = 0.0;
                    if (regular_) {  // (E S_ik E)[j, l], E symmetric: both factors lie along rows
                        total = dense::dot(&half[static_cast<std::size_t>(top + j) * m], &E[static_cast<std::size_t>(top + l) * m], m);
                    } else {
                        for (int a = 0; a < m; ++a)
                            total += E[static_cast<std::size_t>(a) * m + top + j] * half[static_cast<std::size_t>(a) * m + top + l];
                    }
                    moment(f, g, i, j, k, l) += total;
                }
        }
    }

    // From L'Q L to Q: every index of a moment is multiplied with L'^-1.
    void take_back() {
        std::vector<Vector> inverse;
        for (std::size_t f = 0; f < L_.size(); ++f) {
            inverse.emplace_back(L_[f].size());
            dense::invert_lower(L_[f].data(), size(static_cast<int>(f)), inverse.back().data());
        }
        const auto times = [](const Vector& R, int q, std::size_t before, std::size_t after, Vector& x) {  // R' along one index
            Vector out(x.size(), 0.0);
            for (std::size_t s = 0; s < before; ++s)
                for (int a = 0; a < q; ++a)
                    for (int b = a; b < q; ++b)
                        for (std::size_t t = 0; t < after; ++t) out[(s * q + a) * after + t] += R[b * q + a] * x[(s * q + b) * after + t];
            x = out;
        };
        for (int f = 0; f < out_.factors; ++f) {
            const std::size_t p = size(f);
            times(inverse[f], size(f), 1, p, out_.own[f]);
            times(inverse[f], size(f), p, 1, out_.own[f]);
            for (int g = f; g < out_.factors; ++g) {
                const std::size_t q = size(g);
                Vector& x = out_.pair[f * out_.factors + g];
                times(inverse[f], size(f), 1, q * p * q, x);
                times(inverse[g], size(g), p, p * q, x);
                times(inverse[f], size(f), p * q, q, x);
                times(inverse[g], size(g), p * q * p, 1, x);
            }
        }
    }

    const Design& design_;
    const FamilyElimination& elimination_;
    const Cholesky& L_;
    Moments& out_;
    const bool regular_;
    std::vector<Effect> effects_, rest_;
    Vector raw_, T_, K_;
    std::vector<std::vector<Vector>> S_;
};

}  // namespace

void add_family_moments(const Design& design, const FamilyElimination& elimination, const BlockMatrix& M, const Cholesky& L,
                        Moments& out) {
    FamilyMoments(design, elimination, M, L, out);
}

}  // namespace ordbridge
