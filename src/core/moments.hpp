// Sums over pairs of levels of products of entries of Q = Z'V^-1 Z, which second derivatives need.
//
// For two factors, factor 1 is eliminated as in crossed.hpp, but before multiplication by L, so that everything also holds
// where L is singular: with D_g = L1 A_g^-1 L1', T = L2 S^-1 L2' and M = Z'Z,
//
//     B = M11 - M11 D M11,   Y = M12 - M11 D M12,   K = M22 - M12'D M12,
//     Q11 = B - Y T Y',      Q12 = Y - Y T K,       Q22 = K - K T K.
//
// For more factors see family_moments.cpp; where levels are eliminated one by one (sparse.hpp), the columns of
// Q = M - M L H^-1 L'M come from one solution for every random effect.
#pragma once

#include "elimination.hpp"

namespace ordbridge {

struct Moments {
    int factors;
    std::vector<Vector> pair;  // of factors f <= g: sum over levels of Q_gh[i, j] Q_gh[k, l], as an array [i, j, k, l]
    std::vector<Vector> own;   // per factor the sum of the blocks Q_gg
    int width;                 // F has groups of so many columns,
    Vector FQF;                // and this is F_j'Q F_j of one group after the other: none is needed across groups
    const Vector& between(int f, int g) const { return pair[f * factors + g]; }
};

// F is effects × (groups * width); the elimination holds the factors of H = I + L'M L.
Moments moments_of(const Design& design, const Elimination& elimination, const BlockMatrix& M, const Cholesky& L,
                   const Vector& F, int groups, int width);

// The second derivative of log det H in the entries a and b, a not of a later factor than b, for H = I + L'M L with a fixed M.
double second_log_determinant(const Design& design, const Cholesky& L, const Moments& moments, const Entry& a, const Entry& b);

class FamilyElimination;

// All of it but FQF, for a family of factors and the rest (family_moments.cpp).
void add_family_moments(const Design& design, const FamilyElimination& elimination, const BlockMatrix& M, const Cholesky& L,
                        Moments& out);

}  // namespace ordbridge
