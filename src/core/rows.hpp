// What the elimination of a few effects means for the effects they meet, which are columns of a larger matrix.
#pragma once

#include <cstddef>

namespace ordbridge::rows {

// S -= U'U, lower triangle, for U (count × width) whose columns are these of S, in ascending order.
void subtract_square(const double* U, int count, int width, const int* columns, double* S, std::ptrdiff_t stride);

// out -= W N for W (count × width) and the rows and columns of N that are these.
void subtract_product(const double* W, int count, int width, const int* columns, const double* N, std::ptrdiff_t stride,
                      double* out);

// out -= W N for W (count × width) and these rows of N, with all their `size` columns.
void subtract_whole(const double* W, int count, int width, const int* columns, const double* N, std::ptrdiff_t size, double* out);

// out = W T for W (count × width) and these rows of T, of which each has WIDE numbers.
constexpr std::size_t WIDE = 16;
void products_with_strip(const double* W, int count, int width, const int* columns, const double* strip, double* out);

}  // namespace ordbridge::rows
