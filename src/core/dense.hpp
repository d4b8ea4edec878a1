// Products, Cholesky factors, solutions and inverses of dense matrices, from a few rows to thousands, in one thread.
//
// Matrices are stored row by row; `stride` is the distance between rows. A fit is too short for threads to gain anything,
// and one thread gives the same bits on a busy machine. BLAS is not needed: the product below is made of small tiles that
// stay in the processor's registers (Goto & van de Geijn 2008, ACM Trans. Math. Softw. 34(3)), and the rest is made of
// products.
#pragma once

#include <cstddef>

namespace ordbridge::dense {

using Size = std::ptrdiff_t;

// A matrix of somebody else's numbers; transposing exchanges the two strides.
struct View {
    const double* data;
    Size rows, columns, row_stride, column_stride;
    View transposed() const { return {data, columns, rows, column_stride, row_stride}; }
};

inline View view(const double* data, Size rows, Size columns) { return {data, rows, columns, columns, 1}; }
inline View view(const double* data, Size rows, Size columns, Size stride) { return {data, rows, columns, stride, 1}; }

enum class Part { all, lower };  // lower: tiles that lie wholly above the diagonal are left alone

// C += scale * A B
void add_product(double scale, View A, View B, double* C, Size stride, Part part = Part::all);

// C += A X' for lower triangular X (m × m)
void add_times_transposed(View A, const double* X, Size m, double* C, Size stride);

// Overwrite the lower triangle of A with its Cholesky factor; false if A is not positive definite.
bool cholesky(double* A, Size m, Size stride);

// Overwrite x with the solution of L L' x = x, or of one of the triangular halves of it.
void solve(const double* L, Size m, double* x);
void solve_lower(const double* L, Size m, double* x);
void solve_lower_transposed(const double* L, Size m, double* x);

// Fill X with the inverse of the lower triangle of L, and zeros above.
void invert_lower(const double* L, Size m, double* X);

// Fill `out` with the inverse of L L', both triangles.
void inverse(const double* L, Size m, double* out);

// The product of two vectors.
double dot(const double* x, const double* y, Size n);

}  // namespace ordbridge::dense
