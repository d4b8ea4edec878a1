#include "clm.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "dense.hpp"
#include "eigen.hpp"

namespace ordbridge {
namespace {

constexpr double GRADIENT = 1e-6, STEP = 1e-6;  // ordinal's criteria
constexpr int ITERATIONS = 100, HALVINGS = 30;

// The likelihood, with what Newton's method needs of it.
class Clm {
  public:
    explicit Clm(const RatingData& data) : ratings_(data), none_(ratings_.rows(), 0.0) {}

    int size() const { return ratings_.parameters(); }

    // -log likelihood, infinite where a rating is impossible; leaves the rows' derivatives behind
    double loss(const Vector& x) {
        return ratings_.set(x.data()) ? ratings_.losses(ratings_.fixed()) : std::numeric_limits<double>::infinity();
    }

    // Gradient and Hessian at the point of the last loss.
    void derivatives(Vector& gradient, Vector& hessian) const {
        Vector e(none_);
        ratings_.gradient(none_, none_, e, gradient.data());
        const std::vector<int> finite = ratings_.finite_edges();
        const Vector H = ratings_.hessian();
        Vector G(finite.size() * finite.size(), 0.0);
        for (std::size_t j = 0; j < finite.size(); ++j)
            for (std::size_t k = 0; k <= j; ++k)
                G[j * finite.size() + k] = H[static_cast<std::size_t>(finite[j]) * ratings_.edges() + finite[k]];
        hessian = ratings_.to_parameters(G);
    }

  private:
    Ratings ratings_;
    Vector none_;  // there are no random effects
};

// Solve for the step, with a heavier diagonal where the Hessian is not positive definite (as ordinal does).
Vector newton_step(const Vector& hessian, const Vector& gradient) {
    const int m = static_cast<int>(gradient.size());
    Vector factor = hessian, step = gradient;
    if (!dense::cholesky(factor.data(), m, m)) {
        const Eigen found = eigen(hessian, m);
        const double lowest = *std::min_element(found.values.begin(), found.values.end());
        factor = hessian;
        for (int i = 0; i < m; ++i) factor[i * m + i] += std::abs(lowest) + 1.0;
        if (!dense::cholesky(factor.data(), m, m)) return Vector(m, std::numeric_limits<double>::quiet_NaN());
    }
    dense::solve(factor.data(), m, step.data());
    return step;
}

double largest(const Vector& x) {
    double size = 0.0;
    for (double value : x) size = std::max(size, std::abs(value));
    return size;
}

}  // namespace

ClmFit fit_clm(const RatingData& data, const Vector& start) {
    Clm model(data);
    const std::size_t m = model.size();
    if (start.size() != m) throw std::invalid_argument("the number of parameters is wrong");
    ClmFit fit{start, Vector(m), Vector(m * m), model.loss(start), 0, false};
    int flat = 0;
    while (fit.iterations < ITERATIONS) {
        ++fit.iterations;
        model.derivatives(fit.gradient, fit.hessian);
        const Vector step = newton_step(fit.hessian, fit.gradient);
        const bool small = largest(fit.gradient) < GRADIENT;
        flat += small;
        if (small && (largest(step) < STEP * 1e-2 || flat > 5)) {
            fit.converged = true;
            return fit;
        }
        Vector tried(m);
        double loss = std::numeric_limits<double>::infinity(), shrink = 1.0;
        bool lower = false;
        for (int halving = 0; halving < HALVINGS && !lower; ++halving, shrink *= 0.5) {
            for (std::size_t i = 0; i < m; ++i) tried[i] = fit.parameters[i] - step[i] * shrink;
            loss = model.loss(tried);
            lower = loss <= fit.loss + 1e-12 * std::abs(fit.loss);
        }
        if (!lower) {
            fit.converged = small;
            return fit;
        }
        fit.parameters = tried;
        fit.loss = loss;
    }
    return fit;
}

}  // namespace ordbridge
