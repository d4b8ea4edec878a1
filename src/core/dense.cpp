#include "dense.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "simd.hpp"
#include "tile.hpp"

namespace ordbridge::dense {
namespace {

constexpr Size DEPTH = 256, ROWS = 96, COLUMNS = 2048;  // what of both matrices is packed at a time
constexpr Size SMALL = 48;                        // up to here plain loops are as fast
constexpr Size LARGE = 480;                       // from here matrices are divided into larger blocks

Size block_of(Size m) { return m < LARGE ? SMALL : 4 * SMALL; }

// Copy strips of `tall` rows, each k by k, with zeros where the matrix ends.
template <Size tall>
void pack(View A, double* out) {
    Size top = 0;
    for (; top + tall <= A.rows; top += tall) {
        const double* from = A.data + top * A.row_stride;
        if (A.row_stride == 1) {
            for (Size k = 0; k < A.columns; ++k, out += tall, from += A.column_stride)
                for (Size i = 0; i < tall; ++i) out[i] = from[i];
        } else {
            for (Size k = 0; k < A.columns; ++k, out += tall, from += A.column_stride)
                for (Size i = 0; i < tall; ++i) out[i] = from[i * A.row_stride];
        }
    }
    for (Size k = 0; top < A.rows && k < A.columns; ++k, out += tall)
        for (Size i = 0; i < tall; ++i)
            out[i] = top + i < A.rows ? A.data[(top + i) * A.row_stride + k * A.column_stride] : 0.0;
}

View part(View A, Size row, Size column, Size rows, Size columns) {
    return {A.data + row * A.row_stride + column * A.column_stride, rows, columns, A.row_stride, A.column_stride};
}

Size rounded(Size n, Size to) { return (n + to - 1) / to * to; }

template <class Tile>
void add_packed(double scale, const double* A, const double* B, Size rows, Size columns, Size depth, Size row,
                Size column, double* C, Size stride, Part which) {
    constexpr Size TALL = Tile::TALL, WIDE = Tile::WIDE;
    for (Size j = 0; j < columns; j += WIDE) {
        const Size wide = std::min(WIDE, columns - j);
        for (Size i = 0; i < rows; i += TALL) {
            const Size tall = std::min(TALL, rows - i);
            if (which == Part::lower && column + j > row + i + tall - 1) continue;
            double* out = C + (row + i) * stride + column + j;
            if (tall == TALL && wide == WIDE) {
                Tile::add(depth, A + i * depth, B + j * depth, scale, out, stride);
                continue;
            }
            double edge[TALL * WIDE] = {};
            Tile::add(depth, A + i * depth, B + j * depth, scale, edge, WIDE);
            for (Size a = 0; a < tall; ++a)
                for (Size b = 0; b < wide; ++b) out[a * stride + b] += edge[a * WIDE + b];
        }
    }
}

template <class Tile>
void add_product_by(double scale, View A, View B, double* C, Size stride, Part which) {
    constexpr Size TALL = Tile::TALL, WIDE = Tile::WIDE;
    const Size m = A.rows, n = B.columns, depth = A.columns;
    // kept from one product to the next: many are so small that filling new memory with zeros would take as long
    static thread_local std::vector<double> left, right;
    const std::size_t left_size = rounded(std::min(m, ROWS), TALL) * std::min(depth, DEPTH);
    const std::size_t right_size = rounded(std::min(n, COLUMNS), WIDE) * std::min(depth, DEPTH);
    if (left.size() < left_size) left.resize(left_size);
    if (right.size() < right_size) right.resize(right_size);
    for (Size j = 0; j < n; j += COLUMNS) {
        const Size columns = std::min(COLUMNS, n - j);
        for (Size k = 0; k < depth; k += DEPTH) {
            const Size deep = std::min(DEPTH, depth - k);
            pack<WIDE>(part(B, k, j, deep, columns).transposed(), right.data());
            for (Size i = 0; i < m; i += ROWS) {
                const Size rows = std::min(ROWS, m - i);
                if (which == Part::lower && j > i + rows - 1) continue;
                pack<TALL>(part(A, i, k, rows, deep), left.data());
                add_packed<Tile>(scale, left.data(), right.data(), rows, columns, deep, i, j, C, stride, which);
            }
        }
    }
}

using AddProduct = void (*)(double, View, View, double*, Size, Part);

AddProduct best_product() {
#if defined(ORDBRIDGE_HAS_CLONES)
    if (__builtin_cpu_supports("avx512f")) return add_product_by<TileSkylake>;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return add_product_by<TileHaswell>;
#endif
    return add_product_by<TileAnywhere>;
}

const AddProduct product_by_tiles = best_product();

// The inner loops of small matrices: row -= factor * other.
ORDBRIDGE_INLINE void subtract(double factor, const double* __restrict other, double* __restrict row, Size n) {
#pragma omp simd
    for (Size j = 0; j < n; ++j) row[j] -= factor * other[j];
}

ORDBRIDGE_INLINE double dot_inline(const double* __restrict x, const double* __restrict y, Size n) {
    double total = 0.0;
#pragma omp simd reduction(+ : total)
    for (Size k = 0; k < n; ++k) total += x[k] * y[k];
    return total;
}

// Four columns at a time: then every pass over the rest does four updates, along rows.
ORDBRIDGE_CLONES bool cholesky_small(double* A, Size m, Size stride) {
    constexpr Size PANEL = 4;
    double column[PANEL][SMALL];
    for (Size start = 0; start < m; start += PANEL) {
        const Size stop = std::min(start + PANEL, m);
        for (Size k = start; k < stop; ++k) {
            double* pivot = A + k * stride + k;
            if (!(*pivot > 0.0)) return false;
            *pivot = std::sqrt(*pivot);
            const double scale = 1.0 / *pivot;
            for (Size i = k + 1; i < m; ++i) {
                double* row = A + i * stride;
                row[k] *= scale;
                column[k - start][i] = row[k];
                for (Size j = k + 1; j < std::min(stop, i + 1); ++j) row[j] -= row[k] * column[k - start][j];
            }
        }
        if (stop - start < PANEL) break;
        for (Size i = stop; i < m; ++i) {
            double* row = A + i * stride;
            const double a0 = row[start], a1 = row[start + 1], a2 = row[start + 2], a3 = row[start + 3];
#pragma omp simd
            for (Size j = stop; j <= i; ++j)
                row[j] -= (a0 * column[0][j] + a1 * column[1][j]) + (a2 * column[2][j] + a3 * column[3][j]);
        }
    }
    return true;
}

// row -= the sum of four rows of X (`to` apart) times a[0] ... a[3]
ORDBRIDGE_INLINE void subtract_four(const double* a, const double* __restrict X, Size to, double* __restrict row, Size n) {
    const double a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3];
    const double *x0 = X, *x1 = X + to, *x2 = X + 2 * to, *x3 = X + 3 * to;
#pragma omp simd
    for (Size j = 0; j < n; ++j) row[j] -= (a0 * x0[j] + a1 * x1[j]) + (a2 * x2[j] + a3 * x3[j]);
}

ORDBRIDGE_CLONES void invert_lower_small(const double* L, Size m, Size stride, double* X, Size to) {
    for (Size i = 0; i < m; ++i) {
        double* row = X + i * to;
        std::fill(row, row + m, 0.0);
        Size k = 0;
        for (; k + 4 <= i; k += 4) subtract_four(L + i * stride + k, X + k * to, to, row, k + 4);
        for (; k < i; ++k) subtract(L[i * stride + k], X + k * to, row, k + 1);
        const double scale = 1.0 / L[i * stride + i];
        for (Size j = 0; j < i; ++j) row[j] *= scale;
        row[i] = scale;
    }
}

// Four rows at a time, whose sums do not wait for each other.
ORDBRIDGE_CLONES void solve_lower_rows(const double* L, Size m, double* x) {
    Size i = 0;
    for (; i + 4 <= m; i += 4) {
        const double *r0 = L + i * m, *r1 = r0 + m, *r2 = r1 + m, *r3 = r2 + m;
        double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
#pragma omp simd reduction(+ : s0, s1, s2, s3)
        for (Size k = 0; k < i; ++k) {
            s0 += r0[k] * x[k];
            s1 += r1[k] * x[k];
            s2 += r2[k] * x[k];
            s3 += r3[k] * x[k];
        }
        x[i] = (x[i] - s0) / r0[i];
        x[i + 1] = (x[i + 1] - s1 - r1[i] * x[i]) / r1[i + 1];
        x[i + 2] = (x[i + 2] - s2 - r2[i] * x[i] - r2[i + 1] * x[i + 1]) / r2[i + 2];
        x[i + 3] = (x[i + 3] - s3 - r3[i] * x[i] - r3[i + 1] * x[i + 1] - r3[i + 2] * x[i + 2]) / r3[i + 3];
    }
    for (; i < m; ++i) x[i] = (x[i] - dot_inline(L + i * m, x, i)) / L[i * m + i];
}

ORDBRIDGE_CLONES void solve_transposed_rows(const double* L, Size m, double* x) {
    Size i = m - 1;
    for (; i % 4 != 3 && i >= 0; --i) {
        x[i] /= L[i * m + i];
        subtract(x[i], L + i * m, x, i);
    }
    for (; i >= 3; i -= 4) {
        const double *r3 = L + i * m, *r2 = r3 - m, *r1 = r2 - m, *r0 = r1 - m;
        x[i] /= r3[i];
        x[i - 1] = (x[i - 1] - r3[i - 1] * x[i]) / r2[i - 1];
        x[i - 2] = (x[i - 2] - r3[i - 2] * x[i] - r2[i - 2] * x[i - 1]) / r1[i - 2];
        x[i - 3] = (x[i - 3] - r3[i - 3] * x[i] - r2[i - 3] * x[i - 1] - r1[i - 3] * x[i - 2]) / r0[i - 3];
        subtract_four(&x[i - 3], r0, m, x, i - 3);
    }
}

ORDBRIDGE_CLONES double dot_clones(const double* x, const double* y, Size n) { return dot_inline(x, y, n); }

// out = X' X for lower triangular X, both triangles, without packing
ORDBRIDGE_CLONES void square_small(const double* X, Size m, double* out) {
    for (Size i = 0; i < m; ++i) {
        double* row = out + i * m;
        std::fill(row, row + i + 1, 0.0);
        Size k = i;
        for (; k + 4 <= m; k += 4) {
            const double minus[] = {-X[k * m + i], -X[(k + 1) * m + i], -X[(k + 2) * m + i], -X[(k + 3) * m + i]};
            subtract_four(minus, X + k * m, m, row, i + 1);
        }
        for (; k < m; ++k) subtract(-X[k * m + i], X + k * m, row, i + 1);
    }
    for (Size i = 0; i < m; ++i)
        for (Size j = 0; j < i; ++j) out[j * m + i] = out[i * m + j];
}

}  // namespace

void add_product(double scale, View A, View B, double* C, Size stride, Part which) {
    if (A.rows && B.columns && A.columns) product_by_tiles(scale, A, B, C, stride, which);
}

void add_times_transposed(View A, const double* X, Size m, double* C, Size stride) {
    for (Size j = 0; j < m; j += SMALL) {  // rows of X end at the diagonal
        const Size end = std::min(j + SMALL, m);
        const View left{A.data, A.rows, end, A.row_stride, A.column_stride};
        add_product(1.0, left, view(X + j * m, end - j, end, m).transposed(), C + j, stride);
    }
}

bool cholesky(double* A, Size m, Size stride) {
    if (m <= SMALL) return cholesky_small(A, m, stride);
    const Size block = block_of(m);
    std::vector<double> diagonal(block * block), inverse(block * block), below;
    for (Size start = 0; start < m; start += block) {
        const Size size = std::min(block, m - start), stop = start + size, rest = m - stop;
        double* corner = A + start * stride + start;
        if (!cholesky(corner, size, stride)) return false;
        if (rest == 0) break;
        for (Size i = 0; i < size; ++i) std::copy_n(corner + i * stride, size, &diagonal[i * size]);
        invert_lower(diagonal.data(), size, inverse.data());
        double* panel = A + stop * stride + start;
        below.assign(rest * size, 0.0);
        add_times_transposed(view(panel, rest, size, stride), inverse.data(), size, below.data(), size);
        for (Size i = 0; i < rest; ++i) std::copy_n(&below[i * size], size, panel + i * stride);
        const View strip = view(below.data(), rest, size);
        add_product(-1.0, strip, strip.transposed(), A + stop * stride + stop, stride, Part::lower);
    }
    return true;
}

void solve_lower(const double* L, Size m, double* x) { solve_lower_rows(L, m, x); }

void solve_lower_transposed(const double* L, Size m, double* x) { solve_transposed_rows(L, m, x); }

void solve(const double* L, Size m, double* x) {
    solve_lower(L, m, x);
    solve_lower_transposed(L, m, x);
}

void invert_lower(const double* L, Size m, double* X) {
    if (m <= SMALL) return invert_lower_small(L, m, m, X, m);
    std::fill(X, X + m * m, 0.0);
    const Size block = block_of(m);
    std::vector<double> own(block * block), diagonal(block * block), product;
    for (Size i = 0; i < m; i += block) {  // block row by block row
        const Size size = std::min(block, m - i);
        for (Size a = 0; a < size; ++a) std::copy_n(L + (i + a) * m + i, size, &own[a * size]);
        invert_lower(own.data(), size, diagonal.data());
        for (Size a = 0; a < size; ++a) std::copy_n(&diagonal[a * size], a + 1, X + (i + a) * m + i);
        if (i == 0) continue;
        product.assign(size * i, 0.0);
        for (Size k = 0; k < i; k += block) {  // X is zero to the right of its own block row
            const Size deep = std::min(block, i - k);
            add_product(1.0, view(L + i * m + k, size, deep, m), view(X + k * m, deep, k + deep, m), product.data(), i);
        }
        add_product(-1.0, view(diagonal.data(), size, size), view(product.data(), size, i), X + i * m, m);
    }
}

void inverse(const double* L, Size m, double* out) {
    static thread_local std::vector<double> X;  // large, and needed in every evaluation
    if (X.size() < static_cast<std::size_t>(m * m)) X.resize(m * m);
    invert_lower(L, m, X.data());
    if (m <= SMALL) return square_small(X.data(), m, out);
    std::fill(out, out + m * m, 0.0);
    constexpr Size STRIP = 2 * SMALL;
    for (Size i = 0; i < m; i += STRIP) {  // X' X, of which rows above a diagonal block are zero in its columns
        const Size end = std::min(i + STRIP, m);
        const View own = view(&X[i * m + i], m - i, end - i, m);
        add_product(1.0, own.transposed(), view(&X[i * m], m - i, i, m), out + i * m, m);
        add_product(1.0, own.transposed(), own, out + i * m + i, m, Part::lower);
    }
    for (Size i = 0; i < m; ++i)
        for (Size j = 0; j < i; ++j) out[j * m + i] = out[i * m + j];
}

double dot(const double* x, const double* y, Size n) { return dot_clones(x, y, n); }

}  // namespace ordbridge::dense
