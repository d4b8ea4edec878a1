#include "rows.hpp"

#include <algorithm>
#include <vector>

#include "simd.hpp"

namespace ordbridge::rows {
namespace {

// One row of the product, gathered first, so that the columns that are apart are touched once.
ORDBRIDGE_CLONES void square_row(const double* U, int count, int width, int i, const int* columns, double* to, double* sum) {
    const double first = U[i];
    for (int j = 0; j <= i; ++j) sum[j] = first * U[j];
    for (int k = 1; k < count; ++k) {
        const double *row = U + static_cast<std::ptrdiff_t>(k) * width, factor = row[i];
        if (factor == 0.0) continue;
#pragma omp simd
        for (int j = 0; j <= i; ++j) sum[j] += factor * row[j];
    }
    for (int j = 0; j <= i; ++j) to[columns[j]] -= sum[j];
}

ORDBRIDGE_CLONES void product_row(const double* W, int count, int width, int i, const int* columns, const double* N,
                                  double* out, double* row) {
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

}  // namespace

void subtract_square(const double* U, int count, int width, const int* columns, double* S, std::ptrdiff_t stride) {
    double* sum = scratch(width);
    for (int i = 0; i < width; ++i) square_row(U, count, width, i, columns, S + columns[i] * stride, sum);
}

void subtract_product(const double* W, int count, int width, const int* columns, const double* N, std::ptrdiff_t stride,
                      double* out) {
    double* row = scratch(width);
    for (int i = 0; i < width; ++i) product_row(W, count, width, i, columns, N + columns[i] * stride, out, row);
}

}  // namespace ordbridge::rows
