// The expected information about the entries of the Cholesky factors, level by level,
//
//     1/2 sum_g tr(P_g dS_a P_g dS_b),   dS_a = dL_a L' + L dL_a',   L'P_g L = I - N_gg,
//
// (Harville 1977, J. Am. Stat. Assoc. 72, 320-338), from which BFGS starts. It needs about half the evaluations with it
// that it needs from a diagonal guess.
#pragma once

#include <cmath>

#include "design.hpp"

namespace ordbridge {

constexpr double SMALLEST = 0.01;  // diagonals of L below it spoil the approximation

// Whether no diagonal of L is below SMALLEST.
inline bool is_regular(const Design& design, const Cholesky& L, double smallest = SMALLEST) {
    for (std::size_t f = 0; f < L.size(); ++f)
        for (int a = 0; a < design.factors[f].size; ++a)
            if (!(std::abs(L[f][a * design.factors[f].size + a]) > smallest)) return false;
    return true;
}

// Add the information to `out` (entries × entries) and tr(P_g dS_a) to `traces`.
void add_variance_information(const Design& design, const std::vector<Entry>& entries, const Cholesky& L,
                              const BlockMatrix& N, Vector& out, Vector& traces);

}  // namespace ordbridge
