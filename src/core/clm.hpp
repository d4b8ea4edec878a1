// Cumulative link models without random effects: Newton's method on the exact likelihood, as ordinal::clm does it.
#pragma once

#include "ratings.hpp"

namespace ordbridge {

struct ClmFit {
    Vector parameters, gradient, hessian;
    double loss;
    int iterations;
    bool converged;
};

// `start` holds the first guess of all parameters.
ClmFit fit_clm(const RatingData& data, const Vector& start);

}  // namespace ordbridge
