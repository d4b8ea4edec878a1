// The Laplace approximation to the likelihood of a cumulative link mixed model, with its exact gradient.
//
// With u the standardised random effects (b = L u per level), l_i the loss of row i and eta_i = x_i'beta + sum over factors
// of z_i'L u (ratings.hpp has both, with scale and nominal effects), the objective is
//
//     f = h(u^) + 1/2 log det H,   h(u) = sum l_i + 1/2 u'u,   u^ = argmin h,   H = I + Z~'D Z~,   D = diag(d_i),
//
// where r_i, d_i, c_i are the first, second and third derivative of l_i in eta_i and z~_i = L'z_i (Pinheiro & Bates 1995;
// Christensen 2019 for ordinal::clmm, which minimises the same f). Total derivatives go through u^; with N = H^-1 and
// s_i = z~_i'N z~_i,
//
//     df = sum (r_i + s_i c_i / 2 - v_i d_i) d eta_i                          (explicit change of eta)
//        + sum (dl_i + s_i dd_i / 2 - v_i dr_i) / d cut-point, log sigma      (thresholds, nominal and scale effects)
//        + sum_i z_i'dL (d_i N z~_i - r_i a), for every factor                (change of Z~)
//
// with a = N Z~'(s c / 2) and v = Z~ a.
#pragma once

#include <memory>

#include "elimination.hpp"
#include "ratings.hpp"
#include "search.hpp"

namespace ordbridge {

struct Moments;

class Laplace {
  public:
    // The parameters are, in this order: those of the ratings, and the free entries of the Cholesky factors.
    Laplace(std::shared_ptr<const Design> design, const RatingData& data, std::vector<Entry> entries);

    int parameters() const { return ratings_.parameters() + static_cast<int>(entries_.size()); }

    // f and its gradient; infinite (and no gradient) where the parameters allow no likelihood. The modes start from where
    // they are and are found as closely as `closeness` says: to its square.
    double evaluate(const Vector& x, Vector& gradient);
    double closeness = 1e-3;
    int evaluations = 0;

    // Integrate by adaptive Gauss-Hermite quadrature with these nodes and weights (of the weight function exp(-x^2)) instead
    // of Laplace's approximation, which is that with one node; for one grouping factor with one effect (quadrature.cpp).
    void set_quadrature(const Vector& nodes, const Vector& weights);

    // Carry the modes along their tangent to `step` times the direction away from the point of the last evaluation.
    void prepare(const Vector& direction);
    void moved(double step);

    // Start the modes again from zero, or from anywhere.
    void set_modes(const Vector& u);
    const Vector& modes() const { return u_; }

    // The change of the modes per unit step along a direction, from the last evaluation.
    const Vector& tangent(const Vector& direction);

    // The approximate Hessian at the last evaluation: for thresholds and coefficients that of h with the random effects
    // eliminated, as if H did not depend on them; for the entries of L see information.hpp.
    Vector information();

    // Its inverse, never with a direction longer than a unit step; false where L is nearly singular.
    bool guess(Vector& inverse);

    // The Hessian in the parameters `free` at x: exactly, where that is cheaper, otherwise by differences of the exact gradient.
    Vector hessian(const Vector& x, const std::vector<int>& free, double difference, Patience& patience);

    // For every vector of standard normal numbers, of which each has one for every effect, u = modes + H^-1/2 times it, with
    // the parameters of the last evaluation, and the logarithm of exp(-h(u)) over the normal density of u that Laplace's
    // approximation puts in its place, both 1 at the mode: vectors × connected components, which are independent.
    Vector log_weights(const Vector& normals);

    const Design& design() const { return *design_; }
    const Cholesky& cholesky() const { return L_; }
    const BlockMatrix& inverse() const { return N_; }

  private:
    bool set_parameters(const Vector& x);
    double losses();
    double factorise();
    double newton_step();
    double approach(double value);
    double find_modes();
    double fill_gradient(Vector& gradient);
    double integrate(Vector& gradient);
    void leverages();

    // The exact Hessian at the point of the last evaluation, and about how many multiplications it takes (laplace_hessian.cpp).
    struct Kinds;
    struct Part;
    std::vector<Kinds> kinds() const;
    std::vector<Part> parts(const std::vector<Kinds>& kinds) const;
    double cost_of_exact(std::size_t free) const;
    Vector exact_hessian(const std::vector<int>& free);
    void sum_for_cells(const Part& part, const std::vector<Kinds>& kinds, const std::vector<Vector>& weights, const double* matrix,
                       double* out) const;
    void weigh_cell(const Part& part, std::size_t f, std::size_t cell, const double* cells, Vector& sum) const;
    void fill_by_cells(const Part& part, const std::vector<Kinds>& kinds, const std::vector<Vector>& standardised, const double* Y,
                       double* V, double* transposed, double* F) const;
    void fill_level(const Part& part, const std::vector<Kinds>& kinds, std::size_t f, std::size_t level, const double* F, Vector& sum,
                    double* own) const;
    void add_moments(const Part& part, const std::vector<Kinds>& kinds, const double* N, const double* F, Moments& moments) const;
    void add_component(int component, const Part& part, const std::vector<Kinds>& kinds, const std::vector<Entry>& entries,
                       const Vector& dk, std::size_t size, Vector& x, Moments& moments, Vector& H);

    std::shared_ptr<const Design> design_;
    Ratings ratings_;
    std::vector<Entry> entries_;

    std::unique_ptr<Elimination> elimination_;
    Cholesky L_;
    std::vector<Vector> zt_;                  // per factor the rows L'z_i
    std::vector<const double*> z_, zt_rows_;  // where the rows of every factor begin
    BlockMatrix M_, N_;
    Vector u_, du_, base_, tangent_;          // modes; a Newton step not taken, or a tangent; where a line begins
    Vector eta_, half_, e_;                   // per row; half of s
    std::vector<Vector> Nz_;                  // per factor the rows N z~_i

    Vector nodes_, weights_;                  // of the quadrature, if there is one

    Vector last_x_, last_gradient_;
    double last_closeness_ = 0.0, last_value_ = 0.0;
    bool known_ = false, factored_ = false;  // whether the last value is known; whether there is a factor of some H
};

}  // namespace ordbridge
