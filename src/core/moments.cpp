#include "moments.hpp"

#include <algorithm>

#include "crossed.hpp"
#include "dense.hpp"
#include "family.hpp"
#include "sizes.hpp"

namespace ordbridge {
namespace {

using dense::view;
constexpr int STRIP = 512;  // levels of factor 1 for which Q11 is held at a time

// D_g = L A_g^-1 L', M_g D_g and B_g = M_g - M_g D_g M_g, given the Cholesky factors of A_g
struct First {
    Vector D, MD, B;
};

First eliminated(const Vector& A, const Vector& L, const Vector& M, int q) {
    First out{Vector(A.size(), 0.0), Vector(A.size(), 0.0), M};
    Vector half(q * q);
    for (std::size_t at = 0; at < A.size(); at += q * q) {
        for (int b = 0; b < q; ++b)  // half = chol(A_g)^-1 L'
            for (int a = 0; a < q; ++a) {
                double total = L[b * q + a];
                for (int k = 0; k < a; ++k) total -= A[at + a * q + k] * half[k * q + b];
                half[a * q + b] = total / A[at + a * q + a];
            }
        for (int a = 0; a < q; ++a)
            for (int b = 0; b < q; ++b)
                for (int k = 0; k < q; ++k) out.D[at + a * q + b] += half[k * q + a] * half[k * q + b];
        for (int a = 0; a < q; ++a)
            for (int b = 0; b < q; ++b)
                for (int k = 0; k < q; ++k) out.MD[at + a * q + b] += M[at + a * q + k] * out.D[at + k * q + b];
        for (int a = 0; a < q; ++a)
            for (int b = 0; b < q; ++b)
                for (int k = 0; k < q; ++k) out.B[at + a * q + b] -= out.MD[at + a * q + k] * M[at + k * q + b];
    }
    return out;
}

// out += the blocks, from level `first` on, times the rows of X that belong to their levels
void multiply_rows(const Vector& blocks, int q, int first, const double* X, int rows, int width, double* out) {
    for (int row = 0; row < rows; ++row)
        for (int k = 0; k < q; ++k) {
            const double factor = blocks[(static_cast<std::size_t>(first + row / q) * q + row % q) * q + k];
            const double* other = X + static_cast<std::size_t>(row - row % q + k) * width;
            double* to = out + static_cast<std::size_t>(row) * width;
            for (int j = 0; j < width; ++j) to[j] += factor * other[j];
        }
}

// Overwrite X (rows × m), whose columns belong to levels, with X L, or with X L' if transposed.
void multiply_columns(const Vector& L, int q, bool transposed, double* X, std::size_t rows, int m) {
    with_size(q, [&](auto q) {
        for (std::size_t i = 0; i < rows; ++i)
            for (double* at = X + i * m; at < X + (i + 1) * m; at += q) {
                if (transposed)
                    for (int a = q - 1; a >= 0; --a) {
                        double total = 0.0;
                        for (int k = 0; k <= a; ++k) total += at[k] * L[a * q + k];
                        at[a] = total;
                    }
                else
                    for (int a = 0; a < q; ++a) {
                        double total = 0.0;
                        for (int k = a; k < q; ++k) total += at[k] * L[k * q + a];
                        at[a] = total;
                    }
            }
    });
}

// The products of the entries of blocks that lie beside each other in p rows of Q, sorted so that each is one dot product.
class RowMoments {
  public:
    RowMoments(int p, int q, int blocks) : p_(p), q_(q), sorted_(static_cast<std::size_t>(p) * q * blocks) {}

    // moments += sum over the first `blocks` blocks of Q[i, j] Q[k, l], and of their transposes if these count as well
    void add(const double* Q, std::size_t stride, int blocks, bool both, Vector& moments) {
        with_sizes(p_, q_, [&](auto p, auto q) {
            for (int i = 0; i < p; ++i)
                for (int block = 0; block < blocks; ++block)
                    for (int j = 0; j < q; ++j)
                        sorted_[static_cast<std::size_t>(i * q + j) * blocks + block] = Q[i * stride + block * q + j];
        });
        const int size = p_ * q_;
        const auto mirrored = [&](int at) { return at % q_ * p_ + at / q_; };  // [j, i] for [i, j], where p = q
        for (int left = 0; left < size; ++left)
            for (int right = 0; right < size; ++right) {
                if (right > left) continue;
                const double total = dense::dot(&sorted_[static_cast<std::size_t>(left) * blocks],
                                                &sorted_[static_cast<std::size_t>(right) * blocks], blocks);
                moments[left * size + right] += total;
                if (right < left) moments[right * size + left] += total;
                if (!both) continue;
                moments[mirrored(left) * size + mirrored(right)] += total;
                if (right < left) moments[mirrored(right) * size + mirrored(left)] += total;
            }
    }

  private:
    int p_, q_;
    Vector sorted_;
};

// The moments of rows of a symmetric Q from level `first` on, of which columns up to each level's own block are given.
void add_symmetric(double* Q, int levels, int first, std::size_t stride, int q, Vector& moments, Vector& own) {
    RowMoments rows(q, q, first + levels);
    for (int g = 0; g < levels; ++g) {
        double *row = Q + static_cast<std::size_t>(g) * q * stride, *block = row + static_cast<std::size_t>(first + g) * q;
        for (int i = 0; i < q; ++i)
            for (int j = 0; j < q; ++j) {
                if (j > i) block[i * stride + j] = block[j * stride + i];
                own[i * q + j] += block[std::max(i, j) * stride + std::min(i, j)];
            }
        rows.add(row, stride, first + g, true, moments);
        rows.add(block, stride, 1, false, moments);
    }
}

Vector times(const dense::View& A, const dense::View& B, double scale = 1.0) {
    Vector out(static_cast<std::size_t>(A.rows) * B.columns, 0.0);
    dense::add_product(scale, A, B, out.data(), B.columns);
    return out;
}

// A X' for lower triangular X (m × m)
Vector times_transposed(const Vector& A, std::size_t rows, const Vector& X, int m) {
    Vector out(A.size(), 0.0);
    dense::add_times_transposed(view(A.data(), rows, m), X.data(), m, out.data(), m);
    return out;
}

// FQF += scale A_j'B_j for every group of columns of A and B
void add_groups(double scale, const double* A, const double* B, int rows, int columns, Moments& out) {
    const int k = out.width;
    for (int j = 0; j * k < columns; ++j)
        dense::add_product(scale, view(A + j * k, rows, k, columns).transposed(), view(B + j * k, rows, k, columns),
                           &out.FQF[static_cast<std::size_t>(j) * k * k], k);
}

// A component with levels of both factors, with what of it both ways below need.
struct Component {
    Component(const Design& design, const CrossedElimination& elimination, int c)
        : one(design.factors[0]),
          two(design.factors[1]),
          pairs(design.pairs[0]),
          q1(one.size),
          q2(two.size),
          first1(one.component[c]),
          last1(one.component[c + 1]),
          first2(two.component[c]),
          last2(two.component[c + 1]),
          m1((last1 - first1) * q1),
          m2((last2 - first2) * q2),
          K(static_cast<std::size_t>(m2) * m2, 0.0),
          X(K.size()) {
        dense::invert_lower(elimination.factor_of_rest(c).data(), m2, X.data());
    }

    int column(int p) const { return (pairs.partner[p] - first2) * q2; }  // where the second level of a pair begins

    void add_to_K(const Vector& M22) {
        for (int h = first2; h < last2; ++h)
            for (int a = 0; a < q2; ++a)
                for (int b = 0; b < q2; ++b)
                    K[static_cast<std::size_t>((h - first2) * q2 + a) * m2 + (h - first2) * q2 + b] +=
                        M22[(static_cast<std::size_t>(h) * q2 + a) * q2 + b];
    }

    // F'Q F = F1'B F1 (added elsewhere) + F1'Y F2 + its transpose + F2'K F2 - (Y'F1 + K F2)'T (Y'F1 + K F2)
    void add_products(const Vector& L, Vector YF, const double* F2, int columns, Moments& out) const {
        const int k = out.width, groups = columns / k;
        for (int j = 0; j < groups; ++j) {
            const Vector both = times(view(&YF[j * k], m2, k, columns).transposed(), view(F2 + j * k, m2, k, columns));
            double* to = &out.FQF[static_cast<std::size_t>(j) * k * k];
            for (int a = 0; a < k; ++a)
                for (int b = 0; b < k; ++b) to[a * k + b] += both[a * k + b] + both[b * k + a];
        }
        const Vector KF = times(view(K.data(), m2, m2), view(F2, m2, columns));
        add_groups(1.0, F2, KF.data(), m2, columns, out);
        for (std::size_t i = 0; i < YF.size(); ++i) YF[i] += KF[i];
        Vector across(YF.size());  // columns × m2, so that L multiplies columns
        for (int i = 0; i < m2; ++i)
            for (int j = 0; j < columns; ++j)
                across[static_cast<std::size_t>(j) * m2 + i] = YF[static_cast<std::size_t>(i) * columns + j];
        multiply_columns(L, q2, false, across.data(), columns, m2);
        const Vector root = times_transposed(across, columns, X, m2);
        for (int j = 0; j < groups; ++j) {
            const dense::View own = view(&root[static_cast<std::size_t>(j) * k * m2], k, m2);
            dense::add_product(-1.0, own, own.transposed(), &out.FQF[static_cast<std::size_t>(j) * k * k], k);
        }
    }

    const Factor &one, &two;
    const Pairs& pairs;
    int q1, q2, first1, last1, first2, last2, m1, m2;
    Vector K, X;  // X = chol(S)^-1, so that T = L2 X'X L2'
};

// With full matrices: P = Y L2 X' and R = K L2 X' give Q11 = B - P P', Q12 = Y - P R', Q22 = K - R R'.
void add_whole(Component& c, const BlockMatrix& M, const Cholesky& L, const First& first, const double* F1, const double* F2,
               int width, Moments& out) {
    const int m1 = c.m1, m2 = c.m2, q1 = c.q1, q2 = c.q2;
    Vector Y(static_cast<std::size_t>(m1) * m2, 0.0), D(Y.size(), 0.0), MD(Y.size(), 0.0);
    for (int g = c.first1; g < c.last1; ++g)
        for (int p = c.pairs.begin[g]; p < c.pairs.begin[g + 1]; ++p)
            for (int a = 0; a < q1; ++a)
                std::copy_n(&M.cross[0][(static_cast<std::size_t>(p) * q1 + a) * q2], q2,
                            &Y[static_cast<std::size_t>((g - c.first1) * q1 + a) * m2 + c.column(p)]);
    multiply_rows(first.D, q1, c.first1, Y.data(), m1, m2, D.data());
    multiply_rows(first.MD, q1, c.first1, Y.data(), m1, m2, MD.data());
    dense::add_product(-1.0, view(Y.data(), m1, m2).transposed(), view(D.data(), m1, m2), c.K.data(), m2, dense::Part::lower);
    for (int i = 0; i < m2; ++i)
        for (int j = 0; j < i; ++j) c.K[static_cast<std::size_t>(j) * m2 + i] = c.K[static_cast<std::size_t>(i) * m2 + j];
    c.add_to_K(M.own[1]);
    for (std::size_t i = 0; i < Y.size(); ++i) Y[i] -= MD[i];
    D = Y;
    multiply_columns(L[1], q2, false, D.data(), m1, m2);
    const Vector P = times_transposed(D, m1, c.X, m2);
    Vector R = c.K;
    multiply_columns(L[1], q2, false, R.data(), m2, m2);
    R = times_transposed(R, m2, c.X, m2);
    for (int top = 0; top < m1; top += STRIP * q1) {
        const int end = std::min(top + STRIP * q1, m1), rows = end - top;
        const dense::View own = view(&P[static_cast<std::size_t>(top) * m2], rows, m2);
        Vector Q11(static_cast<std::size_t>(rows) * end, 0.0);
        dense::add_product(-1.0, own, view(P.data(), top, m2).transposed(), Q11.data(), end);
        dense::add_product(-1.0, own, own.transposed(), Q11.data() + top, end, dense::Part::lower);
        for (int row = 0; row < rows; ++row)
            for (int b = 0; b < q1; ++b)
                Q11[static_cast<std::size_t>(row) * end + top + row - row % q1 + b] +=
                    first.B[(static_cast<std::size_t>(c.first1 + (top + row) / q1) * q1 + row % q1) * q1 + b];
        add_symmetric(Q11.data(), rows / q1, top / q1, end, q1, out.pair[0], out.own[0]);
    }
    c.add_products(L[1], times(view(Y.data(), m1, m2).transposed(), view(F1, m1, width)), F2, width, out);
    dense::add_product(-1.0, view(P.data(), m1, m2), view(R.data(), m2, m2).transposed(), Y.data(), m2);
    RowMoments rows(q1, q2, m2 / q2);
    for (int top = 0; top < m1; top += q1) rows.add(&Y[static_cast<std::size_t>(top) * m2], m2, m2 / q2, false, out.pair[1]);
    dense::add_product(-1.0, view(R.data(), m2, m2), view(R.data(), m2, m2).transposed(), c.K.data(), m2, dense::Part::lower);
    add_symmetric(c.K.data(), m2 / q2, 0, m2, q2, out.pair[3], out.own[1]);
}

// With many more effects of factor 1 than of factor 2 nothing as large as their product is needed. With y_gi the row of Y
// of effect i of level g, E = I - T K and S_ik = sum of y_gi y_gk' over the levels,
//
//     sum of Q11_gh[i, j] Q11_gh[k, l] = sum over g of B[i, j] B[k, l] - B[i, j] t[k, l] - t[i, j] B[k, l]
//                                        + tr(T S_jl T S_ki),     t_g[i, j] = y_gi'T y_gj,
//     sum of Q12_gh[i, j] Q12_gh[k, l] = sum over h of E_hj'S_ik E_hl,     Q22 = K E.
void add_by_pairs(Component& c, const BlockMatrix& M, const Cholesky& L, const First& first, const double* F1,
                  const double* F2, int width, Moments& out) {
    const int m2 = c.m2, q1 = c.q1, q2 = c.q2;
    const std::size_t whole = static_cast<std::size_t>(m2) * m2;
    Vector T(whole);
    Vector G = c.X;  // X L2', so that T = G'G
    multiply_columns(L[1], q2, true, G.data(), m2, m2);
    std::fill(T.begin(), T.end(), 0.0);
    dense::add_product(1.0, view(G.data(), m2, m2).transposed(), view(G.data(), m2, m2), T.data(), m2);
    std::vector<Vector> S(q1 * q1, Vector(whole, 0.0));  // S_ik for i >= k, the others are their transposes
    Vector YF(static_cast<std::size_t>(m2) * width, 0.0), t(q1 * q1);
    std::vector<Vector> y(q1), Dm(q1), m(q1);  // of one level: rows of Y, D M12 and M12 in the columns of its pairs
    for (int g = c.first1; g < c.last1; ++g) {
        const int begin = c.pairs.begin[g], count = (c.pairs.begin[g + 1] - begin) * q2;
        std::vector<int> at(count);
        for (int x = 0; x < count; ++x) at[x] = c.column(begin + x / q2) + x % q2;
        const std::size_t own = static_cast<std::size_t>(g) * q1 * q1;
        for (int i = 0; i < q1; ++i) {
            m[i].resize(count);
            for (int x = 0; x < count; ++x)
                m[i][x] = M.cross[0][(static_cast<std::size_t>(begin + x / q2) * q1 + i) * q2 + x % q2];
        }
        for (int i = 0; i < q1; ++i) {
            y[i] = m[i];
            Dm[i].assign(count, 0.0);
            for (int k = 0; k < q1; ++k)
                for (int x = 0; x < count; ++x) {
                    y[i][x] -= first.MD[own + i * q1 + k] * m[k][x];
                    Dm[i][x] += first.D[own + i * q1 + k] * m[k][x];
                }
            const double* row = F1 + static_cast<std::size_t>((g - c.first1) * q1 + i) * width;
            for (int x = 0; x < count; ++x)
                for (int j = 0; j < width; ++j) YF[static_cast<std::size_t>(at[x]) * width + j] += y[i][x] * row[j];
        }
        for (int i = 0; i < q1; ++i)
            for (int x = 0; x < count; ++x)
                for (int z = 0; z < count; ++z)
                    c.K[static_cast<std::size_t>(at[x]) * m2 + at[z]] -= m[i][x] * Dm[i][z];
        for (int i = 0; i < q1; ++i)
            for (int k = 0; k <= i; ++k) {
                double total = 0.0;
                for (int x = 0; x < count; ++x)
                    for (int z = 0; z < count; ++z) {
                        const std::size_t place = static_cast<std::size_t>(at[x]) * m2 + at[z];
                        const double product = y[i][x] * y[k][z];
                        S[i * q1 + k][place] += product;
                        total += T[place] * product;
                    }
                t[i * q1 + k] = t[k * q1 + i] = total;
            }
        const double* B = &first.B[own];
        for (int left = 0; left < q1 * q1; ++left) {
            out.own[0][left] += B[left] - t[left];
            for (int right = 0; right < q1 * q1; ++right)
                out.pair[0][left * q1 * q1 + right] += B[left] * B[right] - B[left] * t[right] - t[left] * B[right];
        }
    }
    c.add_to_K(M.own[1]);
    Vector E = times(view(T.data(), m2, m2), view(c.K.data(), m2, m2), -1.0);
    for (int i = 0; i < m2; ++i) E[static_cast<std::size_t>(i) * m2 + i] += 1.0;
    const auto sum = [&](int i, int k) {
        return i >= k ? view(S[i * q1 + k].data(), m2, m2) : view(S[k * q1 + i].data(), m2, m2).transposed();
    };
    std::vector<Vector> TS;
    for (int i = 0; i < q1; ++i)
        for (int k = 0; k < q1; ++k) TS.push_back(times(view(T.data(), m2, m2), sum(i, k)));
    for (int i = 0; i < q1; ++i)
        for (int j = 0; j < q1; ++j)
            for (int k = 0; k < q1; ++k)
                for (int l = 0; l < q1; ++l) {
                    const Vector &left = TS[j * q1 + l], &right = TS[k * q1 + i];
                    double trace = 0.0;
                    for (int a = 0; a < m2; ++a)
                        for (int b = 0; b < m2; ++b)
                            trace += left[static_cast<std::size_t>(a) * m2 + b] * right[static_cast<std::size_t>(b) * m2 + a];
                    out.pair[0][(i * q1 + j) * q1 * q1 + k * q1 + l] += trace;
                }
    for (int i = 0; i < q1; ++i)
        for (int k = 0; k < q1; ++k) {
            const Vector SE = times(sum(i, k), view(E.data(), m2, m2));
            for (int a = 0; a < m2; ++a)
                for (int x = 0; x < m2; x += q2)
                    for (int j = 0; j < q2; ++j)
                        for (int l = 0; l < q2; ++l)
                            out.pair[1][(i * q2 + j) * q1 * q2 + k * q2 + l] +=
                                E[static_cast<std::size_t>(a) * m2 + x + j] * SE[static_cast<std::size_t>(a) * m2 + x + l];
        }
    c.add_products(L[1], std::move(YF), F2, width, out);
    Vector Q22(whole, 0.0);
    dense::add_product(1.0, view(c.K.data(), m2, m2), view(E.data(), m2, m2), Q22.data(), m2, dense::Part::lower);
    add_symmetric(Q22.data(), m2 / q2, 0, m2, q2, out.pair[3], out.own[1]);
}

// What one component with levels of both factors contributes, by the way that takes fewer multiplications.
void add_component(const Design& design, const CrossedElimination& elimination, int number, const BlockMatrix& M,
                   const Cholesky& L, const First& first, const double* F, int width, Moments& out) {
    Component c(design, elimination, number);
    const double* F1 = F + static_cast<std::size_t>(c.one.offset + c.first1 * c.q1) * width;
    const double* F2 = F + static_cast<std::size_t>(c.two.offset + c.first2 * c.q2) * width;
    const double m1 = c.m1, m2 = c.m2, squares = c.q1 * c.q1 + 1.0;
    double meetings = 0.0;
    for (int g = c.first1; g < c.last1; ++g) {
        const double count = (c.pairs.begin[g + 1] - c.pairs.begin[g]) * c.q2;
        meetings += count * count;
    }
    const bool few = 2.0 * (2.0 * squares * m2 * m2 * m2 + squares * meetings) < m1 * m2 * (2.0 * m2 + 0.5 * m1);
    (few ? add_by_pairs : add_whole)(c, M, L, first, F1, F2, width, out);
}

// out = L x, or L'x, level by level
Vector times_cholesky(const Design& design, const Cholesky& L, const Vector& x, bool transposed) {
    Vector out(x.size());
    for (std::size_t f = 0; f < L.size(); ++f) {
        const Factor& factor = design.factors[f];
        const int q = factor.size;
        for (int g = 0; g < factor.levels; ++g)
            for (int a = 0; a < q; ++a) {
                double total = 0.0;
                for (int b = 0; b < q; ++b) total += (transposed ? L[f][b * q + a] : L[f][a * q + b]) * factor.of(x, g)[b];
                factor.of(out, g)[a] = total;
            }
    }
    return out;
}

// Q x = M x - M L H^-1 L'M x
Vector times_Q(const Design& design, const Elimination& elimination, const BlockMatrix& M, const Cholesky& L, const Vector& x) {
    Vector Mx(x.size()), out(x.size());
    multiply(design, M, x, Mx);
    Vector inner = times_cholesky(design, L, Mx, true);
    elimination.solve(inner);
    multiply(design, M, times_cholesky(design, L, inner, false), out);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = Mx[i] - out[i];
    return out;
}

// Where levels are eliminated one by one Q is made the same way: the columns of one level at a time.
void add_by_columns(const Design& design, const Elimination& elimination, const BlockMatrix& M, const Cholesky& L,
                    Moments& out) {
    for (int g = 0; g < out.factors; ++g) {
        const Factor& second = design.factors[g];
        const int q = second.size;
        for (int h = 0; h < second.levels; ++h) {
            std::vector<Vector> Q;
            for (int b = 0; b < q; ++b) {
                Vector unit(design.effects, 0.0);
                second.of(unit, h)[b] = 1.0;
                Q.push_back(times_Q(design, elimination, M, L, unit));
            }
            for (int f = 0; f <= g; ++f) {
                const Factor& first = design.factors[f];
                const int p = first.size;
                Vector block(p * q);
                for (int level = 0; level < first.levels; ++level) {
                    for (int a = 0; a < p; ++a)
                        for (int b = 0; b < q; ++b) block[a * q + b] = first.of(Q[b], level)[a];
                    Vector& moments = out.pair[f * out.factors + g];
                    for (int left = 0; left < p * q; ++left)
                        for (int right = 0; right < p * q; ++right) moments[left * p * q + right] += block[left] * block[right];
                    if (f == g && level == h)
                        for (int i = 0; i < p * q; ++i) out.own[f][i] += block[i];
                }
            }
        }
    }
}

// F'Q F, column by column
void add_products_of(const Design& design, const Elimination& elimination, const BlockMatrix& M, const Cholesky& L,
                     const Vector& F, int width, Moments& out) {
    Vector column(design.effects), QF(F.size());
    for (int j = 0; j < width; ++j) {
        for (int i = 0; i < design.effects; ++i) column[i] = F[static_cast<std::size_t>(i) * width + j];
        const Vector product = times_Q(design, elimination, M, L, column);
        for (int i = 0; i < design.effects; ++i) QF[static_cast<std::size_t>(i) * width + j] = product[i];
    }
    add_groups(1.0, F.data(), QF.data(), design.effects, width, out);
}

}  // namespace

Moments moments_of(const Design& design, const Elimination& elimination, const BlockMatrix& M, const Cholesky& L,
                   const Vector& F, int groups, int own) {
    const int factors = static_cast<int>(design.factors.size()), width = groups * own;
    Moments out{factors, {}, {}, own, Vector(static_cast<std::size_t>(groups) * own * own, 0.0)};
    for (int f = 0; f < factors; ++f) {
        const int p = design.factors[f].size;
        out.own.emplace_back(p * p, 0.0);
        for (int g = 0; g < factors; ++g) out.pair.emplace_back(p * p * design.factors[g].size * design.factors[g].size, 0.0);
    }
    const auto* by_factors = dynamic_cast<const CrossedElimination*>(&elimination);
    if (!by_factors) {
        if (const auto* family = dynamic_cast<const FamilyElimination*>(&elimination))
            add_family_moments(design, *family, M, L, out);
        else
            add_by_columns(design, elimination, M, L, out);
        add_products_of(design, elimination, M, L, F, width, out);
        return out;
    }
    const CrossedElimination& crossed = *by_factors;
    const int q = design.factors[0].size, m = design.factors[0].levels * q;
    const First first = eliminated(crossed.factors_of_first(), L[0], M.own[0], q);
    Vector BF(static_cast<std::size_t>(m) * width, 0.0);
    multiply_rows(first.B, q, 0, F.data(), m, width, BF.data());
    add_groups(1.0, F.data(), BF.data(), m, width, out);
    if (factors == 1) {  // Q is block diagonal
        for (std::size_t at = 0; at < first.B.size(); at += q * q)
            for (int left = 0; left < q * q; ++left) {
                out.own[0][left] += first.B[at + left];
                for (int right = 0; right < q * q; ++right)
                    out.pair[0][left * q * q + right] += first.B[at + left] * first.B[at + right];
            }
        return out;
    }
    for (int c = 0; c < design.components(); ++c)
        add_component(design, crossed, c, M, L, first, F.data(), width, out);
    return out;
}

double second_log_determinant(const Design& design, const Cholesky& Ls, const Moments& moments, const Entry& a, const Entry& b) {
    const int p = design.factors[a.factor].size, q = design.factors[b.factor].size;
    const Vector &L = Ls[a.factor], &R = Ls[b.factor], &m = moments.between(a.factor, b.factor);
    const auto at = [&](int i, int j, int k, int l) { return m[((i * q + j) * p + k) * q + l]; };
    double total = 0.0;
    for (int s = 0; s < p; ++s)
        for (int t = 0; t < q; ++t)
            total -= 2.0 * L[s * p + a.column] * R[t * q + b.column] * (at(a.row, t, s, b.row) + at(a.row, b.row, s, t));
    if (a.factor == b.factor && a.column == b.column) total += 2.0 * moments.own[a.factor][a.row * p + b.row];
    return total;
}

}  // namespace ordbridge
