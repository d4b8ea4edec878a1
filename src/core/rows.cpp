#include "rows.hpp"

#include <algorithm>
#include <vector>

#include "simd.hpp"
#include "tile.hpp"

namespace ordbridge::rows {
namespace {

constexpr int GROUP = 4;

// Whether columns come in groups next to each other, as the effects of a level do.
bool in_groups(const int* columns, int width) {
    if (width % GROUP) return false;
    for (int j = 0; j < width; j += GROUP)
        if (columns[j + GROUP - 1] != columns[j] + GROUP - 1) return false;
    return true;
}

// One row of the product, gathered first, so that the columns that are apart are touched once.
ORDBRIDGE_CLONES void square_row(const double* U, int count, int width, int i, const int* columns, bool grouped, double* to,
                                 double* sum) {
    const double first = U[i];
    for (int j = 0; j <= i; ++j) sum[j] = first * U[j];
    for (int k = 1; k < count; ++k) {
        const double *row = U + static_cast<std::ptrdiff_t>(k) * width, factor = row[i];
        if (factor == 0.0) continue;
#pragma omp simd
        for (int j = 0; j <= i; ++j) sum[j] += factor * row[j];
    }
    int j = 0;
    if (grouped)
        for (; j + GROUP <= i + 1; j += GROUP) {
            double* own = to + columns[j];
#pragma omp simd
            for (int b = 0; b < GROUP; ++b) own[b] -= sum[j + b];
        }
    for (; j <= i; ++j) to[columns[j]] -= sum[j];
}

ORDBRIDGE_CLONES void product_row(const double* W, int count, int width, int i, const int* columns, const double* N, double* out,
                                  double* row) {
    for (int j = 0; j < width; ++j) row[j] = N[columns[j]];
    for (int k = 0; k < count; ++k) {
        const double factor = W[static_cast<std::ptrdiff_t>(k) * width + i];
        double* to = out + static_cast<std::ptrdiff_t>(k) * width;
        if (factor == 0.0) continue;
#pragma omp simd
        for (int j = 0; j < width; ++j) to[j] -= factor * row[j];
    }
}

double* scratch(int width) {
    static thread_local std::vector<double> kept;
    if (static_cast<int>(kept.size()) < width) kept.resize(width);
    return kept.data();
}

ORDBRIDGE_CLONES void add_rows(const double* W, int count, int width, const int* columns, const double* N, std::ptrdiff_t size,
                               double* out) {
    for (int i = 0; i < width; ++i) {
        const double* row = N + columns[i] * size;
        for (int k = 0; k < count; ++k) {
            const double factor = W[static_cast<std::ptrdiff_t>(k) * width + i];
            double* to = out + k * size;
#pragma omp simd
            for (std::ptrdiff_t j = 0; j < size; ++j) to[j] -= factor * row[j];
        }
    }
}

// Two rows of W at a time, in registers (tile.hpp says why it is written thus); the last one alone is done twice.
#define ORDBRIDGE_STRIPS(name, attribute, Several, lanes)                                                              \
    attribute void name(const double* W, int count, int width, const int* columns, const double* strip, double* out) {  \
        constexpr int PARTS = static_cast<int>(WIDE) / lanes;                                                           \
        for (int k = 0; k < count; k += 2) {                                                                            \
            const int other = std::min(k + 1, count - 1);                                                               \
            const double *left = W + static_cast<std::ptrdiff_t>(k) * width;                                            \
            const double *right = W + static_cast<std::ptrdiff_t>(other) * width;                                       \
            Several one[PARTS] = {}, two[PARTS] = {};                                                                   \
            for (int i = 0; i < width; ++i) {                                                                           \
                const double *row = strip + static_cast<std::ptrdiff_t>(columns[i]) * WIDE;                             \
                _Pragma("GCC unroll 4") for (int j = 0; j < PARTS; ++j) {                                               \
                    const Several value = *reinterpret_cast<const Several*>(row + j * lanes);                           \
                    one[j] += left[i] * value;                                                                          \
                    two[j] += right[i] * value;                                                                         \
                }                                                                                                       \
            }                                                                                                           \
            _Pragma("GCC unroll 4") for (int j = 0; j < PARTS; ++j) {                                                   \
                *reinterpret_cast<Several*>(out + k * WIDE + j * lanes) = one[j];                                       \
                *reinterpret_cast<Several*>(out + other * WIDE + j * lanes) = k == other ? one[j] : two[j];             \
            }                                                                                                           \
        }                                                                                                               \
    }

ORDBRIDGE_STRIPS(strips_anywhere, , dense::Four, 4)
#if defined(ORDBRIDGE_HAS_CLONES)
ORDBRIDGE_STRIPS(strips_haswell, __attribute__((target("avx2,fma"))), dense::Four, 4)
ORDBRIDGE_STRIPS(strips_skylake, __attribute__((target("avx512f,fma"))), dense::Eight, 8)
#endif
#undef ORDBRIDGE_STRIPS

using Strips = void (*)(const double*, int, int, const int*, const double*, double*);

Strips best_strips() {
#if defined(ORDBRIDGE_HAS_CLONES)
    if (__builtin_cpu_supports("avx512f")) return strips_skylake;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return strips_haswell;
#endif
    return strips_anywhere;
}

const Strips strips = best_strips();

// Some columns of N at a time, gathered and then multiplied in registers.
void subtract_grouped(const double* W, int count, int width, const int* columns, const double* N, std::ptrdiff_t stride, double* out) {
    constexpr int WHOLE = static_cast<int>(WIDE);
    static thread_local std::vector<double> strip, sums;
    static thread_local std::vector<int> rows;
    strip.resize(static_cast<std::size_t>(width) * WIDE);
    sums.resize(static_cast<std::size_t>(count) * WIDE);
    while (static_cast<int>(rows.size()) < width) rows.push_back(static_cast<int>(rows.size()));
    for (int left = 0; left < width; left += WHOLE) {
        const int wide = std::min(WHOLE, width - left);
        for (int i = 0; i < width; ++i) {
            const double* from = N + columns[i] * stride;
            double* to = &strip[static_cast<std::size_t>(i) * WIDE];
            for (int j = 0; j < wide; j += GROUP) std::copy_n(from + columns[left + j], GROUP, to + j);
            std::fill(to + wide, to + WHOLE, 0.0);
        }
        strips(W, count, width, rows.data(), strip.data(), sums.data());
        for (int k = 0; k < count; ++k)
            for (int j = 0; j < wide; ++j) out[static_cast<std::ptrdiff_t>(k) * width + left + j] -= sums[k * WIDE + j];
    }
}

}  // namespace

void subtract_whole(const double* W, int count, int width, const int* columns, const double* N, std::ptrdiff_t size, double* out) {
    add_rows(W, count, width, columns, N, size, out);
}

void products_with_strip(const double* W, int count, int width, const int* columns, const double* strip, double* out) {
    strips(W, count, width, columns, strip, out);
}

void subtract_square(const double* U, int count, int width, const int* columns, double* S, std::ptrdiff_t stride) {
    double* sum = scratch(width);
    const bool grouped = in_groups(columns, width);
    for (int i = 0; i < width; ++i) square_row(U, count, width, i, columns, grouped, S + columns[i] * stride, sum);
}

void subtract_product(const double* W, int count, int width, const int* columns, const double* N, std::ptrdiff_t stride,
                      double* out) {
    if (in_groups(columns, width)) return subtract_grouped(W, count, width, columns, N, stride, out);
    double* row = scratch(width);
    for (int i = 0; i < width; ++i) product_row(W, count, width, i, columns, N + columns[i] * stride, out, row);
}

}  // namespace ordbridge::rows
