// The profiled deviance of a linear mixed model, with its exact gradient.
//
// With V = I + Z L L'Z' (relative to sigma^2), H = I + L'Z'Z L, A = X'V^-1 X and r^2 = min over beta, u of
// |y - X beta - Z L u|^2 + |u|^2, the criteria are (Bates, Maechler, Bolker & Walker 2015, eq. 39 and 42)
//
//     ML:    log det H + n (1 + log(2 pi r^2 / n))
//     REML:  log det H + log det A + (n - p) (1 + log(2 pi r^2 / (n - p))).
//
// Everything depends on the data through cross-products of Z, X and y, so an evaluation costs the same for any number of
// rows. Derivatives in L, with u the minimiser, e = y - X beta - Z L u, C = H^-1 L'Z'X and W = V^-1 X = X - Z L C:
//
//     d log det H = 2 <Z'Z L H^-1, dL>,   d r^2 = -2 <Z'e u', dL>,
//     d log det A = -2 <sum over j, k of A^-1_jk Z'W_j C_k', dL>.
#pragma once

#include <memory>

#include "elimination.hpp"
#include "search.hpp"

namespace ordbridge {

class Deviance {
  public:
    // `columns` (rows × (p + 1)) holds X, whose columns are orthonormal, and y, which is orthogonal to them.
    Deviance(std::shared_ptr<const Design> design, const Vector& columns, int count, std::vector<Entry> entries, bool reml);

    // Half the profiled deviance and its gradient in the free entries of L; infinite where V is numerically singular.
    double evaluate(const Vector& x, Vector& gradient);
    int evaluations = 0;

    void prepare(const Vector&) {}  // nothing is carried along a line
    void moved(double) {}
    bool guess(Vector& inverse);  // the inverse of the expected information, sigma profiled out

    // Hessian and Jacobian at the last evaluation, in (entries, sigma): of the deviance before sigma is profiled out, and
    // of sigma^2 A^-1 (curvature.cpp).
    struct SecondDerivatives {
        Vector hessian, jacobian;
    };
    const SecondDerivatives& second_derivatives();
    Vector curvature();  // of half the deviance in the entries, with sigma at its best for any of them

    // The covariance of the coefficients of X R, X being the columns given, and Satterthwaite's degrees of freedom
    // (Kuznetsova, Brockhoff & Christensen 2017).
    struct Inference {
        Vector vcov, df;
    };
    Inference inference(const Vector& R);

    int entries() const { return static_cast<int>(entries_.size()); }
    int columns() const { return p_; }
    double sigma() const;  // the residual standard deviation at the last evaluation
    const Vector& gamma() const { return gamma_; }  // coefficients of the orthonormal columns
    const Vector& modes() const { return u_; }
    const Design& design() const { return *design_; }
    const Cholesky& cholesky() const { return L_; }
    const BlockMatrix& inverse() const { return N_; }

  private:
    int freedom() const { return reml_ ? design_->n - p_ : design_->n; }
    Vector residual_sums(int j, const Vector& c) const;
    Vector residual_of_y() const;
    void fill_gradients(const Vector& inverse);
    void log_determinant_gradient(Cholesky& G) const;
    SecondDerivatives differentiate() const;

    std::shared_ptr<const Design> design_;
    std::vector<Entry> entries_;
    bool reml_;
    int p_;
    double yy_ = 0.0;
    BlockMatrix M_;           // Z'Z
    std::vector<Vector> Zx_;  // Z'X column by column, and Z'y last

    std::unique_ptr<Elimination> elimination_;
    Cholesky L_;
    BlockMatrix T_, N_;       // L'Z'Z L, and the blocks of H^-1
    std::vector<Vector> C_;   // H^-1 L'Z'X; with ML only R^-1 L'Z'X for H = R R'
    Vector u_, A_, gamma_;
    double r2_ = 0.0;
    std::vector<Vector> parts_;  // gradients of log det H, r^2 and log det A
    Vector last_x_, last_gradient_;
    double last_value_ = 0.0;
    bool known_ = false, differentiated_ = false;  // whether the last evaluation's results, and second_, are of last_x_
    SecondDerivatives second_;
};

}  // namespace ordbridge
