// Second derivatives of the deviance of a linear mixed model, for Satterthwaite's degrees of freedom.
//
// With Q = Z'V^-1 Z, W = V^-1 X, e = V^-1 (y - X beta), V_a and V_ab the derivatives of V in the entries a and b of the
// relative Cholesky factors, and the columns E = (W, e),
//
//     d2 log det H = tr(V^-1 V_ab) - tr(V^-1 V_a V^-1 V_b),
//     A_a  = -W'V_a W,                       A_ab = -W'V_ab W + W'V_a V^-1 V_b W + W'V_b V^-1 V_a W,
//     r2_a = -e'V_a e,                       r2_ab = -e'V_ab e + 2 e'V_a V^-1 V_b e - 2 e'V_a W A^-1 W'V_b e,
//     d2 log det A = tr(A^-1 A_ab) - tr(A^-1 A_a A^-1 A_b).
//
// With A^-1 = R R' the trace of A^-1 W'V_a V^-1 V_b W is the sum of the same for single columns of W R, so that products of
// different columns are never needed. The other traces are sums over pairs of levels (g, h) of products of two entries of the block Q_gh, so that only the moments
// sum Q_gh[i, j] Q_gh[k, l] are kept (moments.hpp), with the sum of the blocks Q_gg and the products F'Q F, V_a x = Z F_a.
#include <cmath>
#include <stdexcept>

#include "dense.hpp"
#include "deviance.hpp"
#include "eigen.hpp"
#include "moments.hpp"

namespace ordbridge {
namespace {

struct Split {
    Vector WW, We;
    double ee;
};

// The parts (W, W), (W, e) and (e, e) of a matrix plus its transpose.
Split split(const Vector& half, int p) {
    const int m = p + 1;
    Split out{Vector(p * p), Vector(p), 2.0 * half[p * m + p]};
    for (int i = 0; i < p; ++i) {
        out.We[i] = half[i * m + p] + half[p * m + i];
        for (int j = 0; j < p; ++j) out.WW[i * p + j] = half[i * m + j] + half[j * m + i];
    }
    return out;
}

// The sum over levels of x[g, i] y[g, k].
double level_product(const Factor& factor, const Vector& x, int i, const Vector& y, int k) {
    double total = 0.0;
    for (int g = 0; g < factor.levels; ++g) total += factor.of(x, g)[i] * factor.of(y, g)[k];
    return total;
}

// The same for every pair of columns.
Vector level_products(const Factor& factor, const std::vector<Vector>& X, int i, const std::vector<Vector>& Y, int k) {
    const std::size_t m = X.size();
    Vector out(m * m, 0.0);
    for (std::size_t a = 0; a < m; ++a)
        for (std::size_t b = 0; b < m; ++b) out[a * m + b] = level_product(factor, X[a], i, Y[b], k);
    return out;
}

Vector product(const Vector& A, const Vector& B, int p) {
    Vector out(A.size(), 0.0);
    for (int i = 0; i < p; ++i)
        for (int k = 0; k < p; ++k)
            for (int j = 0; j < p; ++j) out[i * p + j] += A[i * p + k] * B[k * p + j];
    return out;
}

// F_a = (dL_a L' + L dL_a') x for all entries a: one row for every effect; a group of columns, one for each a, for every x.
// c is L'x.
Vector spread(const Design& design, const std::vector<Entry>& entries, const Cholesky& L, const std::vector<Vector>& x,
              const std::vector<Vector>& c) {
    const std::size_t k = entries.size(), columns = x.size() * k;
    Vector F(static_cast<std::size_t>(design.effects) * columns, 0.0);
    for (std::size_t a = 0; a < k; ++a) {
        const Factor& factor = design.factors[entries[a].factor];
        const int q = factor.size, row = entries[a].row, column = entries[a].column;
        for (int g = 0; g < factor.levels; ++g) {
            double* to = &F[static_cast<std::size_t>(factor.offset + g * q) * columns + a];
            for (std::size_t j = 0; j < x.size(); ++j) {
                to[row * columns + j * k] += factor.of(c[j], g)[column];
                for (int l = column; l < q; ++l)
                    to[l * columns + j * k] += L[entries[a].factor][l * q + column] * factor.of(x[j], g)[row];
            }
        }
    }
    return F;
}

// The columns of X R, R = G'^-1 with G G' = A, so that R R' = A^-1; G is given.
std::vector<Vector> rotated(const std::vector<Vector>& X, const Vector& G, int p) {
    Vector inverse(G.size());
    dense::invert_lower(G.data(), p, inverse.data());
    std::vector<Vector> out;
    for (int j = 0; j < p; ++j) {
        out.emplace_back(X[j].size(), 0.0);
        for (int i = 0; i <= j; ++i)
            for (std::size_t e = 0; e < X[i].size(); ++e) out[j][e] += inverse[j * p + i] * X[i][e];
    }
    return out;
}

}  // namespace

Deviance::SecondDerivatives Deviance::differentiate() const {
    const int p = p_, k = entries();
    Vector inverse(A_.size()), factor = A_;
    dense::cholesky(factor.data(), p, p);
    dense::inverse(factor.data(), p, inverse.data());
    std::vector<Vector> E, C(C_.begin(), C_.end() - 1);  // E = Z'(W, e) and C = L'E
    for (int j = 0; j < p; ++j) {
        if (!reml_) elimination_->backward(C[j]);
        E.push_back(residual_sums(j, C[j]));
    }
    E.push_back(residual_of_y());
    C.push_back(u_);
    std::vector<Vector> x{E.back()}, c{C.back()};  // e, and for log det A the columns of W R
    if (reml_)
        for (auto* both : {&x, &c}) {
            const std::vector<Vector> more = rotated(both == &x ? E : C, factor, p);
            both->insert(both->end(), more.begin(), more.end());
        }
    const Moments moments =
        moments_of(*design_, *elimination_, M_, L_, spread(*design_, entries_, L_, x, c), static_cast<int>(x.size()), k);
    const double s = sigma();
    SecondDerivatives out{Vector((k + 1) * (k + 1)), Vector(static_cast<std::size_t>(k + 1) * p * p)};
    std::vector<Split> V;  // E'V_a E
    for (int a = 0; a < k; ++a) {
        const Entry& entry = entries_[a];
        V.push_back(split(level_products(design_->factors[entry.factor], E, entry.row, C, entry.column), p));
        const Vector change = product(product(inverse, V[a].WW, p), inverse, p);
        for (int i = 0; i < p * p; ++i) out.jacobian[a * p * p + i] = s * s * change[i];
        out.hessian[a * (k + 1) + k] = out.hessian[k * (k + 1) + a] = 2.0 / (s * s * s) * V[a].ee;
    }
    for (int i = 0; i < p * p; ++i) out.jacobian[k * p * p + i] = 2.0 * s * inverse[i];
    out.hessian[k * (k + 1) + k] = 6.0 * r2_ / (s * s * s * s) - 2.0 * freedom() / (s * s);
    for (int a = 0; a < k; ++a)
        for (int b = 0; b <= a; ++b) {
            const bool later = entries_[a].factor < entries_[b].factor;
            const Entry &first = later ? entries_[a] : entries_[b], &second = later ? entries_[b] : entries_[a];
            const bool same = first.factor == second.factor && first.column == second.column;
            const auto through = [&](std::size_t j) {  // x'V_a V^-1 V_b x - x'V_ab x / 2
                const double own = same ? level_product(design_->factors[first.factor], x[j], first.row, x[j], second.row) : 0.0;
                return moments.FQF[(j * k + a) * k + b] - own;
            };
            double value = second_log_determinant(*design_, L_, moments, first, second) + 2.0 * through(0) / (s * s);
            for (int i = 0; i < p; ++i)
                for (int j = 0; j < p; ++j) value -= 2.0 * inverse[i * p + j] * V[a].We[j] * V[b].We[i] / (s * s);
            if (reml_) {
                for (std::size_t j = 1; j < x.size(); ++j) value += 2.0 * through(j);
                const Vector left = product(inverse, V[a].WW, p), right = product(inverse, V[b].WW, p);
                for (int i = 0; i < p; ++i)
                    for (int j = 0; j < p; ++j) value -= left[i * p + j] * right[j * p + i];
            }
            out.hessian[a * (k + 1) + b] = out.hessian[b * (k + 1) + a] = value;
        }
    return out;
}

const Deviance::SecondDerivatives& Deviance::second_derivatives() {
    if (!known_ || !std::isfinite(last_value_)) throw std::invalid_argument("there is no deviance at the last point");
    if (!differentiated_) second_ = differentiate();
    differentiated_ = true;
    return second_;
}

// With v the variance of a coefficient, g its gradient in (entries, sigma) and S = 2 H^-1, H the Hessian there, the degrees
// of freedom are 2 v^2 / g'S g; directions of no positive curvature are left out, as lmerTest does. Sigma is measured in
// sigmas, so that which directions count as flat does not depend on the units of the response.
Deviance::Inference Deviance::inference(const Vector& R) {
    constexpr double FLAT = 1e-8;
    const SecondDerivatives& second = second_derivatives();
    const int p = p_, k = entries(), m = k + 1;
    const double s = sigma();
    const auto sandwich = [&](const double* inner, int i, int j) {  // of R inner R'
        double total = 0.0;
        for (int a = 0; a < p; ++a)
            for (int b = 0; b < p; ++b) total += R[i * p + a] * inner[a * p + b] * R[j * p + b];
        return total;
    };
    Vector inverse(A_.size()), factor = A_, H = second.hessian;
    dense::cholesky(factor.data(), p, p);
    dense::inverse(factor.data(), p, inverse.data());
    for (int a = 0; a < m; ++a) {
        H[a * m + k] *= s;
        H[k * m + a] *= s;
    }
    const Eigen found = eigen(H, m);
    Inference out{Vector(A_.size()), Vector(p)};
    Vector g(m);
    for (int j = 0; j < p; ++j) {
        for (int i = 0; i < p; ++i) out.vcov[j * p + i] = s * s * sandwich(inverse.data(), j, i);
        for (int a = 0; a < m; ++a) g[a] = (a == k ? s : 1.0) * sandwich(&second.jacobian[a * p * p], j, j);
        double variance = 0.0;
        for (int e = 0; e < m; ++e) {
            double along = 0.0;
            for (int a = 0; a < m; ++a) along += found.vectors[a * m + e] * g[a];
            if (found.values[e] > FLAT) variance += 2.0 * along * along / found.values[e];
        }
        out.df[j] = 2.0 * out.vcov[j * p + j] * out.vcov[j * p + j] / variance;
    }
    return out;
}

Vector Deviance::curvature() {
    const Vector& H = second_derivatives().hessian;
    const int k = entries(), m = k + 1;
    Vector out(k * k);
    for (int a = 0; a < k; ++a)
        for (int b = 0; b < k; ++b) out[a * k + b] = 0.5 * (H[a * m + b] - H[a * m + k] * H[k * m + b] / H[k * m + k]);
    return out;
}

}  // namespace ordbridge
