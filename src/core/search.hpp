// BFGS and Newton's method without bounds, for objectives whose every evaluation gives the gradient as well (Nocedal & Wright 2006, chapters
// 3 and 6).
//
// An objective has
//     double evaluate(const Vector& x, Vector& gradient)   infinite where the function is not defined
//     void prepare(const Vector& direction)                evaluations along a direction from the last point will follow
//     void moved(double step)                              the next one is that far along it
//     bool guess(Vector& inverse)                          a guess of the inverse Hessian at the last point, if there is one
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "design.hpp"
#include "eigen.hpp"
#include "patience.hpp"

namespace ordbridge {

constexpr double SUFFICIENT = 1e-4, CURVATURE = 0.9;  // the constants of Wolfe's conditions
constexpr double LONGEST = 1.5;                       // no parameter of these models moves further in one step
constexpr int GUESSES = 2;                            // how many steps the objective's own guess is asked for again
constexpr int TRIALS = 40;                            // evaluations along one line

struct Minimum {
    Vector x;
    double value;
    Vector gradient;
    int evaluations;
    bool converged;
    Vector inverse;  // Hessian, as the steps of BFGS have shown it: with it a search can go on where it was stopped
};

namespace search {

// direction = -B g; return its slope along g, and its largest entry
inline std::pair<double, double> direction_of(const Vector& B, const Vector& gradient, Vector& direction) {
    const std::size_t n = gradient.size();
    double slope = 0.0, longest = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
        double total = 0.0;
        for (std::size_t j = 0; j < n; ++j) total -= B[i * n + j] * gradient[j];
        direction[i] = total;
        slope += total * gradient[i];
        longest = std::max(longest, std::abs(total));
    }
    return {slope, longest};
}

// Update the inverse Hessian B with a step s and the change y of the gradient.
inline void update(Vector& B, const Vector& s, const Vector& y) {
    const std::size_t n = s.size();
    double sy = 0.0, ss = 0.0, yy = 0.0, yBy = 0.0;
    Vector By(n, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
        sy += s[i] * y[i];
        ss += s[i] * s[i];
        yy += y[i] * y[i];
        for (std::size_t j = 0; j < n; ++j) By[i] += B[i * n + j] * y[j];
        yBy += y[i] * By[i];
    }
    if (!(sy > 1e-12 * std::sqrt(ss * yy))) return;
    const double factor = (1.0 + yBy / sy) / sy;
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) B[i * n + j] += factor * s[i] * s[j] - (By[i] * s[j] + s[i] * By[j]) / sy;
}

struct End {
    double step, value, slope;
};

// The minimum of the cubic through both ends, kept away from the ends.
inline double between(const End& a, const End& b) {
    const double width = b.step - a.step;
    if (!std::isfinite(b.value)) return a.step + 0.25 * width;
    const double d1 = a.slope + b.slope - 3.0 * (b.value - a.value) / width;
    const double square = d1 * d1 - a.slope * b.slope;
    if (square < 0.0 || !std::isfinite(square)) return a.step + 0.5 * width;
    const double d2 = std::sqrt(square);
    const double step = b.step - width * (b.slope + d2 - d1) / (b.slope - a.slope + 2.0 * d2);
    return std::min(std::max(step, a.step + 0.1 * width), b.step - 0.1 * width);
}

inline double product(const Vector& x, const Vector& y) {
    double total = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) total += x[i] * y[i];
    return total;
}

inline Vector along(const Vector& x, double step, const Vector& direction) {
    Vector out(x);
    for (std::size_t i = 0; i < x.size(); ++i) out[i] += step * direction[i];
    return out;
}

// Find a step that meets Wolfe's conditions and go there: overwrite point; return the step, 0 if none lowers the value, and
// whether it was the last one that was tried.
template <class Objective>
std::pair<double, bool> line(Objective& objective, Minimum& point, const Vector& direction, double slope, double first,
                             Patience& patience) {
    const double infinity = std::numeric_limits<double>::infinity(), value = point.value;
    const double rounding = 1e-13 * std::abs(value);
    End low{0.0, value, slope}, high{infinity, infinity, infinity};
    double best = 0.0, best_value = value, step = first, last = 0.0;
    Vector gradient(point.x.size()), best_gradient = point.gradient;
    for (int used = 1; used <= TRIALS; ++used) {
        patience.check();
        objective.moved(step);
        ++point.evaluations;
        const double tried = objective.evaluate(along(point.x, step, direction), gradient);
        last = step;
        const End end{step, tried, std::isfinite(tried) ? product(gradient, direction) : infinity};
        if (tried < best_value) {
            best = step;
            best_value = tried;
            best_gradient = gradient;
        }
        const bool too_high = !(tried <= value + SUFFICIENT * step * slope + rounding);
        if (too_high || (tried >= low.value + rounding && low.step > 0.0)) {
            high = end;
        } else if (end.slope >= CURVATURE * slope) {
            best = step;
            best_value = tried;
            best_gradient = gradient;
            break;
        } else {
            low = end;
        }
        if (!std::isfinite(high.step))
            step *= 2.5;
        else if (std::abs(high.step - low.step) < 1e-10 * std::max(1.0, std::abs(high.step)))
            break;
        else
            step = between(low, high);
    }
    if (best == 0.0) return {0.0, false};
    point.x = along(point.x, best, direction);
    point.value = best_value;
    point.gradient = best_gradient;
    return {best, best == last};
}

}  // namespace search

// Minimise from x until a step promises to gain less than `gain`.
//
// The first steps go by the objective's own guess of the inverse Hessian, corrected by the last step; from then on BFGS
// keeps it up to date. A given `inverse` takes the place of all guesses.
template <class Objective>
Minimum minimise(Objective& objective, const Vector& x, double gain, const Vector* inverse, int iterations,
                 Patience& patience) {
    const std::size_t n = x.size();
    Minimum point{x, 0.0, Vector(n), 1, false, Vector(n * n, 0.0)};
    point.value = objective.evaluate(x, point.gradient);
    if (!std::isfinite(point.value)) return point;
    Vector guess(n * n, 0.0), direction(n);
    for (std::size_t i = 0; i < n; ++i) guess[i * n + i] = 1.0;
    if (inverse)
        guess = *inverse;
    else
        objective.guess(guess);
    Vector& B = point.inverse;
    B = guess;
    for (int iteration = 0; iteration < iterations; ++iteration) {
        auto [slope, longest] = search::direction_of(B, point.gradient, direction);
        if (!(slope < 0.0)) {  // rounding has spoiled the approximation: start it again
            B = guess;
            std::tie(slope, longest) = search::direction_of(B, point.gradient, direction);
        }
        if (-slope < gain) {
            point.converged = true;
            break;
        }
        objective.prepare(direction);
        const Vector before = point.gradient;
        const auto [step, last] =
            search::line(objective, point, direction, slope, std::min(1.0, LONGEST / longest), patience);
        if (step == 0.0) {
            point.converged = -slope < std::max(1e3 * gain, 1e-12 * std::abs(point.value));
            break;
        }
        if (!inverse && iteration < GUESSES && last) objective.guess(B);
        Vector change(n);
        for (std::size_t i = 0; i < n; ++i) {
            direction[i] *= step;
            change[i] = point.gradient[i] - before[i];
        }
        search::update(B, direction, change);
    }
    return point;
}

constexpr double FLAT = 1e-7;      // curvatures below it, relative to the largest one, count as this much
constexpr double NEGATIVE = 1e-5;  // a curvature below minus this, relative to the largest one, makes a point a saddle

// Minimise from x by Newton's method until a step promises to gain less than `gain`.
//
// The objective's `curvature()` is the Hessian at the point of the last evaluation, which at the end is the minimum. Where
// it is not positive definite the steps go by the absolute values of the curvatures, which leads away from saddles.
template <class Objective>
Minimum newton(Objective& objective, const Vector& x, double gain, int iterations, Patience& patience) {
    const std::size_t n = x.size();
    Minimum point{x, 0.0, Vector(n), 1, false, {}};
    Vector direction(n), other(n);
    for (int iteration = 0; iteration < iterations; ++iteration) {
        patience.check();
        point.value = objective.evaluate(point.x, point.gradient);
        if (!std::isfinite(point.value)) return point;
        const Eigen found = eigen(objective.curvature(), static_cast<int>(n));
        std::size_t lowest = 0, highest = 0;
        double steepest = 0.0;
        for (std::size_t k = 0; k < n; ++k) {
            if (found.values[k] < found.values[lowest]) lowest = k;
            if (found.values[k] > found.values[highest]) highest = k;
            steepest = std::max(steepest, std::abs(found.values[k]));
        }
        std::fill(direction.begin(), direction.end(), 0.0);
        for (std::size_t k = 0; k < n; ++k) {
            double along = 0.0;
            for (std::size_t i = 0; i < n; ++i) along += found.vectors[i * n + k] * point.gradient[i];
            const double length = along / std::max(std::abs(found.values[k]), FLAT * steepest);
            for (std::size_t i = 0; i < n; ++i) direction[i] -= length * found.vectors[i * n + k];
        }
        const double slope = search::product(point.gradient, direction);
        if (!(-slope >= gain)) {
            bool beyond = false;  // at a saddle, go on from a lower point along the most negative curvature
            if (n && found.values[lowest] < -NEGATIVE * found.values[highest])
                for (const double step : {0.1, -0.1}) {
                    for (std::size_t i = 0; i < n; ++i) direction[i] = found.vectors[i * n + lowest];
                    const Vector tried = search::along(point.x, step, direction);
                    if (objective.evaluate(tried, other) < point.value) {
                        point.x = tried;
                        beyond = true;
                        break;
                    }
                }
            if (beyond) continue;
            point.converged = true;
            break;
        }
        double longest = 0.0;
        for (double value : direction) longest = std::max(longest, std::abs(value));
        objective.prepare(direction);
        const double step = search::line(objective, point, direction, slope, std::min(1.0, LONGEST / longest), patience).first;
        if (step == 0.0) {
            point.converged = -slope < std::max(1e3 * gain, 1e-12 * std::abs(point.value));
            break;
        }
    }
    point.value = objective.evaluate(point.x, point.gradient);
    return point;
}

}  // namespace ordbridge
