// A factor of the rest that is nested in another (family.hpp): raters within systems, and raters.
//
// Let u with standard deviation a be a rater's effect and v, with c, those of its k levels. Only a u + c v meets the
// ratings, so that S n = n for n = (c, -a, ..., -a) / length. The reflection Q = I - b w w', w = e + s n, s the sign of c, e the
// rater's own place and b = 1 / (1 + |n_1|), takes e to -s n, so that in Q S Q there is nothing left to do in the places of
// raters, and one effect of each of them less has to be factored. With g = b w_child of the raters of i and j, P_i and P_j
// their places, what is kept of Q S Q and, with D = 1 in the raters' places and the inverse of that elsewhere, N = Q D Q are
//
//     (Q S Q)_ij = S_ij - g_i S_Pi,j - g_j (S_i,Pj - g_i S_Pi,Pj) - [P_i = P_j] g_i^2,
//     N_ij       = D_ij - g_i y_Pi,j - g_j (y_Pj,i - g_i W_PiPj),     y_p = D w_p,   W_pp' = w_p'D w_p'.
#pragma once

#include "design.hpp"

namespace ordbridge {

class Parents {
  public:
    // `parent` holds for every place of the rest the place of the level that it is nested in, -1 if there is none.
    explicit Parents(const std::vector<int>& parent);

    void set(double a, double c);  // standard deviations of parents and of their levels
    int kept() const { return static_cast<int>(kept_.size()); }

    // Factor S (m × m, lower triangle); add its log determinant to `logdet`. False if it is not positive definite.
    bool factorise(const double* S, int m, double& logdet);
    void solve(Vector& x, bool transposed) const;  // x = R^-1 x, or R'^-1 x, with S = R R'
    void inverse(double* N, int m) const;          // S^-1, both triangles

  private:
    void reflect(Vector& x) const;

    std::vector<int> parents_;               // their places
    std::vector<int> kept_;                  // all other places
    std::vector<int> of_;                    // for every one that is kept its parent's number; one past the last if it has none
    std::vector<std::vector<int>> children_; // per parent, among those kept
    Vector own_, child_, g_;                 // per parent w in its own place, w of a child, and b w of a child; the last are 0
    Vector R_;                               // the Cholesky factor of what is kept
};

}  // namespace ordbridge
