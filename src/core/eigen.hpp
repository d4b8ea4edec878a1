// Eigenvalues and eigenvectors of small symmetric matrices, by Jacobi's rotations (Golub & Van Loan 2013, section 8.5).
#pragma once

#include <cmath>
#include <utility>

#include "dense.hpp"
#include "design.hpp"

namespace ordbridge {

struct Eigen {
    Vector values;   // in no order
    Vector vectors;  // size × size, one in each column
};

inline Eigen eigen(Vector A, int m) {
    Vector V(A.size(), 0.0);
    double scale = 0.0;
    for (int i = 0; i < m; ++i) V[i * m + i] = 1.0;
    for (double a : A) scale += a * a;
    for (int sweep = 0; sweep < 60; ++sweep) {
        double off = 0.0;
        for (int i = 0; i < m; ++i)
            for (int j = 0; j < i; ++j) off += A[i * m + j] * A[i * m + j];
        if (!(off > 1e-32 * scale)) break;
        for (int p = 0; p < m; ++p)
            for (int q = p + 1; q < m; ++q) {
                const double apq = A[p * m + q];
                if (apq == 0.0) continue;
                const double tau = (A[q * m + q] - A[p * m + p]) / (2.0 * apq);
                const double t = (tau >= 0.0 ? 1.0 : -1.0) / (std::abs(tau) + std::sqrt(1.0 + tau * tau));
                const double c = 1.0 / std::sqrt(1.0 + t * t), s = t * c;
                for (int k = 0; k < m; ++k) {
                    const double x = A[k * m + p], y = A[k * m + q];
                    A[k * m + p] = c * x - s * y;
                    A[k * m + q] = s * x + c * y;
                }
                for (int k = 0; k < m; ++k) {
                    const double x = A[p * m + k], y = A[q * m + k];
                    A[p * m + k] = c * x - s * y;
                    A[q * m + k] = s * x + c * y;
                }
                for (int k = 0; k < m; ++k) {
                    const double x = V[k * m + p], y = V[k * m + q];
                    V[k * m + p] = c * x - s * y;
                    V[k * m + q] = s * x + c * y;
                }
            }
    }
    Vector values(m);
    for (int i = 0; i < m; ++i) values[i] = A[i * m + i];
    return {std::move(values), std::move(V)};
}

// The inverse of a symmetric matrix with its eigenvalues raised to at least `least(largest eigenvalue)`, a function that
// does not fall. Mostly none has to be raised, which a Cholesky factor shows sooner than eigenvalues do.
template <class Least>
Vector raised_inverse(const Vector& A, int m, Least least) {
    double bound = 0.0;  // no eigenvalue is above the largest sum of a row (Gershgorin)
    for (int i = 0; i < m; ++i) {
        double sum = 0.0;
        for (int j = 0; j < m; ++j) sum += std::abs(A[i * m + j]);
        bound = std::fmax(bound, sum);
    }
    Vector factor = A;
    for (int i = 0; i < m; ++i) factor[i * m + i] -= least(bound);
    if (dense::cholesky(factor.data(), m, m)) {
        Vector inverse(A.size());
        factor = A;
        dense::cholesky(factor.data(), m, m);
        dense::inverse(factor.data(), m, inverse.data());
        return inverse;
    }
    const Eigen found = eigen(A, m);
    double largest = m ? found.values[0] : 0.0;
    for (double value : found.values) largest = std::fmax(largest, value);
    Vector out(A.size(), 0.0);
    for (int k = 0; k < m; ++k) {
        const double factor = 1.0 / std::fmax(found.values[k], least(largest));
        for (int i = 0; i < m; ++i)
            for (int j = 0; j < m; ++j) out[i * m + j] += factor * found.vectors[i * m + k] * found.vectors[j * m + k];
    }
    return out;
}

}  // namespace ordbridge
