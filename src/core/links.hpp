// Probability of one rating's interval under the five links, with derivatives that stay right in the tails.
//
// A rating lies between two cut-points; with a = upper cut-point - eta and b = lower cut-point - eta its probability is
// pi = F(a) - F(b). The likelihood and its derivatives up to the third need, beside log pi, the density f and its first
// two derivatives at a and b, each divided by pi:
//
//     ra = f(a)/pi, ga = f'(a)/pi, ha = f''(a)/pi,    rb, gb, hb likewise at b.
//
// Every difference F(a) - F(b) is written so that nothing cancels in either tail (McCullagh & Nelder 1989, section
// 5.2.2, for the models; the forms of the differences are elementary).
#pragma once

#include <cstddef>

namespace ordbridge {

enum class Link { probit, logit, cloglog, loglog, cauchit };

constexpr double BEYOND = 1e150;  // stands for an infinite cut-point

// What a row's loss -log pi contributes: derivatives in eta, and of loss, r and d in the upper and lower cut-point.
struct RowDerivatives {
    double *log_pi, *r, *d, *c, *l_up, *l_lo, *r_up, *r_lo, *d_up, *d_lo;
};

struct IntervalTerms {
    double log_pi, ra, rb, ga, gb, ha, hb;
};

// Terms of the interval (b, a]; log pi is -inf where a <= b.
IntervalTerms interval_terms(Link link, double a, double b);

// The logarithms of the probabilities of n intervals alone.
void log_probabilities(Link link, std::size_t n, const double* upper, const double* lower, double* out);

// Second derivatives of a row's loss, r and d in its two distances a and b from the cut-points.
struct IntervalCurvature {
    double l_aa, l_ab, l_bb, r_aa, r_ab, r_bb, d_aa, d_ab, d_bb;
};
IntervalCurvature interval_curvature(Link link, double a, double b);

// Fill the derivatives of n rows with the intervals (lower, upper].
void row_derivatives(Link link, std::size_t n, const double* upper, const double* lower, const RowDerivatives& out);

}  // namespace ordbridge
