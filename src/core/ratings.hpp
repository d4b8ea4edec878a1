// The ratings of all rows under a cumulative link model with all that ordinal::clm knows (Christensen 2019, section 2):
//
//     P(y_i <= j) = F((theta_ij - eta_i) / sigma_i),   theta_ij = sum_m n_im (J alpha_m)_j,   sigma_i = exp(s_i'zeta),
//     eta_i = offset_i + x_i'beta + random effects,    loss_i = -w_i log P(y_i)
//
// with n_i0 = 1 and n_im the nominal effects, which move every cut-point on its own, and s_i the scale effects. The
// derivatives in eta_i and in both cut-points are those of links.hpp divided by powers of sigma_i. With a and b the
// distances of upper and lower cut-point from eta_i, those in t_i = s_i'zeta follow from them,
//
//     dl/dt = -(a l_up + b l_lo),   dr/dt = -(r + a r_up + b r_lo),   dd/dt = -(2 d + a d_up + b d_lo),
//
// where a cut-point at infinity contributes nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "design.hpp"
#include "links.hpp"

namespace ordbridge {

// Matrices are rows × columns; nominal and scale have no intercept; weights and offset may be empty.
struct RatingData {
    Link link = Link::logit;
    std::vector<std::int64_t> y;  // from 0 to the number of cut-points
    Vector X;
    int columns = 0;
    Vector jacobian;  // cut-points × alphas
    int alphas = 0, cuts = 0;
    Vector nominal;
    int nominals = 0;
    Vector scale;
    int scales = 0;
    Vector weights, offset;
};

class Ratings {
  public:
    explicit Ratings(const RatingData& data);

    // Thresholds alpha_0, alpha_1, ..., then beta, then zeta.
    int parameters() const { return alphas_ * blocks_ + columns_ + scales_; }
    std::size_t rows() const { return n_; }

    // Take over the parameters; false where the cut-points around a rating are out of order.
    bool set(const double* x);
    const Vector& fixed() const { return fixed_; }  // eta without random effects

    // Fill the derivatives at eta; return the sum of the losses, infinite where a rating is impossible.
    double losses(const Vector& eta);
    double loss(std::size_t i) const { return weights_[i] > 0.0 ? -weights_[i] * log_pi_[i] : 0.0; }  // of one row
    Vector r, d, c, l_up, l_lo, r_up, r_lo, d_up, d_lo;

    // The gradient of sum loss_i + half_i d_i - v_i r_i in the parameters, with half and v as constants; e_i, which holds
    // half_i c_i before, becomes its derivative in eta_i.
    void gradient(const Vector& half, const Vector& v, Vector& e, double* out) const;

    // For the exact Hessian, without scale effects. Set the change of the upper and of the lower cut-points with parameter k, and
    // add that of eta.
    bool scaled() const { return scales_ > 0; }
    void directions(int k, double* up, double* low, double* eta) const;

    // H += the second derivatives of sum loss_i + half_i d_i + v_i r_i along `size` directions, of which up, low and eta hold
    // the changes of all rows one direction after the other.
    void add_curvature(const Vector& half, const Vector& v, const Vector& up, const Vector& low, const Vector& eta,
                       std::size_t size, Vector& H) const;

    // With `change` holding a change of the random effects' part of eta, make it that of r when the parameters move, too.
    void change_of_r(const double* direction, Vector& change) const;

    // Second derivatives are taken first in edges: all cut-points, with those at infinity, of all blocks, then beta and zeta.
    int edges() const { return blocks_ * (cuts_ + 2) + columns_ + scales_; }
    Vector hessian() const;                             // of the losses, edges × edges, lower triangle
    template <class Add>
    void sensitivities(Add&& add) const;                // add(row, edge, d r_row / d edge) for all that are not zero
    std::vector<int> finite_edges() const;
    Vector to_parameters(const Vector& G) const;        // from a matrix in the finite edges to one in the parameters

  private:
    int edge(int block, int cut) const { return block * (cuts_ + 2) + cut; }
    void set_edges(const double* alpha, Vector& out) const;
    double r_scale(std::size_t i) const { return -(r[i] + above(i) * r_up[i] + below(i) * r_lo[i]); }
    double above(std::size_t i) const { return y_[i] == cuts_ ? 0.0 : up_[i] - eta_[i]; }
    double below(std::size_t i) const { return y_[i] == 0 ? 0.0 : low_[i] - eta_[i]; }

    Link link_;
    std::size_t n_;
    int columns_, alphas_, blocks_, scales_, cuts_;
    std::vector<int> y_;
    Vector X_, N_, S_;  // column after column; N_ without the first block's ones
    Vector jacobian_, weights_, offset_;
    bool plain_;                     // neither weights nor scale effects
    Vector edges_;                   // cut-points of every block; those of the first lie between two at infinity
    Vector fixed_, up_, low_, inverse_sigma_, eta_, upper_, lower_, log_pi_;
};

template <class Add>
void Ratings::sensitivities(Add&& add) const {
    for (std::size_t i = 0; i < n_; ++i) {
        const int low = y_[i];
        for (int m = 0; m < blocks_; ++m) {
            const double n = m ? N_[(m - 1) * n_ + i] : 1.0;
            if (n == 0.0) continue;
            add(i, edge(m, low + 1), n * r_up[i]);
            add(i, edge(m, low), n * r_lo[i]);
        }
        const int first = edge(blocks_, 0);
        for (int j = 0; j < columns_; ++j) add(i, first + j, d[i] * X_[j * n_ + i]);
        for (int k = 0; k < scales_; ++k) add(i, first + columns_ + k, r_scale(i) * S_[k * n_ + i]);
    }
}

}  // namespace ordbridge
