#include "links.hpp"

#include <cmath>
#include <limits>

#include "vector_math.hpp"

namespace ordbridge {
namespace {

constexpr double IMPOSSIBLE = -std::numeric_limits<double>::infinity();
constexpr double LOG_SQRT_2PI = 0.91893853320467274178, INV_SQRT_2PI = 0.39894228040143267794;

// Mirrored so that the interval's larger end x is positive and its other end v has |v| <= x. With Mills' ratio R,
// w = |v| and E = exp((w^2 - x^2) / 2),
//     v >= 0:  pi = phi(w) (R(w) - E R(x)),        v < 0:  pi = 1 - phi(w) (R(w) + E R(x)).
struct Probit {
    static ORDBRIDGE_INLINE IntervalTerms terms(double a, double b) {
        const bool mirrored = a + b < 0.0;
        const double x = mirrored ? -b : a, v = mirrored ? -a : b, w = v < 0.0 ? -v : v;
        const bool holds_zero = v < 0.0;
        const double E = exponential(-0.5 * ((x - w) * (x + w))).exp;
        const double at_w = INV_SQRT_2PI * exponential(-0.5 * (w * w)).exp;
        const double Rw = mills_ratio(w), Rx = E * mills_ratio(x);
        const double inside = 1.0 - at_w * (Rw + Rx), tail = Rw - Rx;
        const double q = holds_zero ? inside : tail;
        const double rw = (holds_zero ? at_w : 1.0) / q, rx = E * rw;
        const double log_q = logarithm(q);
        const double log_pi = holds_zero ? log_q : log_q - (0.5 * (w * w) + LOG_SQRT_2PI);
        const double ra = mirrored ? rw : rx, rb = mirrored ? rx : rw;
        const double ga = -a * ra, gb = -b * rb;
        return {log_pi, ra, rb, ga, gb, -a * ga - ra, -b * gb - rb};
    }
};

// F(a) - F(b) = F(a) F(-b) (1 - exp(b - a))
struct Logit {
    static ORDBRIDGE_INLINE IntervalTerms terms(double a, double b) {
        const double ea = exponential(a < 0.0 ? a : -a).exp, eb = exponential(b < 0.0 ? b : -b).exp;
        const Exponential gap = exponential(b - a);
        const double width = -gap.expm1;
        const double log_tails = (a < 0.0 ? a : 0.0) + (b > 0.0 ? -b : 0.0);
        const double log_pi = log_tails + logarithm(width / ((1.0 + ea) * (1.0 + eb)));
        const double down = b > 0.0 ? gap.exp : (a > 0.0 ? ea : 1.0);  // exp(max(b, 0) - max(a, 0))
        const double up = a < 0.0 ? gap.exp : (b < 0.0 ? eb : 1.0);    // exp(min(b, 0) - min(a, 0))
        const double ra = down * (1.0 + eb) / ((1.0 + ea) * width), rb = up * (1.0 + ea) / ((1.0 + eb) * width);
        const double half_a = (1.0 - ea) / (1.0 + ea), half_b = (1.0 - eb) / (1.0 + eb);
        const double ta = a < 0.0 ? -half_a : half_a, tb = b < 0.0 ? -half_b : half_b;  // tanh(x / 2) = 2 F(x) - 1
        const double ha = (1.5 * ta * ta - 0.5) * ra, hb = (1.5 * tb * tb - 0.5) * rb;
        return {log_pi, ra, rb, -ta * ra, -tb * rb, ha, hb};
    }
};

// F(x) = 1 - exp(-exp(x)); with w = exp(a) - exp(b) = exp(a) (1 - exp(b - a)),
//     F(a) - F(b) = exp(-exp(b)) (1 - exp(-w)), which far to the left is exp(a) (1 - exp(b - a)).
struct Cloglog {
    static ORDBRIDGE_INLINE IntervalTerms terms(double a, double b) {
        const double ea = exponential(a).exp, eb = exponential(b).exp;
        const Exponential gap = exponential(b - a);
        const double width = -gap.expm1;
        const Exponential less = exponential(-(ea * width));
        const double within = -less.expm1;
        const bool left = a < -40.0;
        const double log_pi = (left ? a : 0.0) + logarithm(left ? width : within) - eb;
        const double ra = left ? 1.0 / width : ea * less.exp / within;
        const double rb = left ? gap.exp / width : eb / within;
        const double ga = (1.0 - ea) * ra, gb = (1.0 - eb) * rb;
        const double possible = b > 700.0 ? IMPOSSIBLE : log_pi;
        return {possible, ra, rb, ga, gb, (1.0 - ea) * ga - ea * ra, (1.0 - eb) * gb - eb * rb};
    }
};

// The cloglog's mirror image: F(x) = 1 - F_cloglog(-x).
struct Loglog {
    static ORDBRIDGE_INLINE IntervalTerms terms(double a, double b) {
        const IntervalTerms t = Cloglog::terms(-b, -a);
        return {t.log_pi, t.rb, t.ra, -t.gb, -t.ga, t.hb, t.ha};
    }
};

struct Cauchit {
    static ORDBRIDGE_INLINE IntervalTerms terms(double a, double b) {
        const double pi = 3.14159265358979323846;
        double angle = std::atan2(a - b, 1.0 + a * b);
        if (b <= -0.5 * BEYOND) angle = std::atan2(1.0, -a);
        if (a >= 0.5 * BEYOND) angle = std::atan2(1.0, b);
        const double sa = 1.0 / (1.0 + a * a), sb = 1.0 / (1.0 + b * b);
        const double ra = sa / angle, rb = sb / angle;
        const double ha = (6.0 * a * a - 2.0) * sa * sa * ra, hb = (6.0 * b * b - 2.0) * sb * sb * rb;
        return {std::log(angle / pi), ra, rb, -2.0 * a * sa * ra, -2.0 * b * sb * rb, ha, hb};
    }
};

template <class L>
ORDBRIDGE_INLINE void fill(std::size_t n, const double* __restrict upper, const double* __restrict lower,
                           const RowDerivatives& out) {
    double *__restrict log_pi = out.log_pi, *__restrict r_ = out.r, *__restrict d_ = out.d, *__restrict c_ = out.c;
    double *__restrict l_up = out.l_up, *__restrict l_lo = out.l_lo, *__restrict r_up = out.r_up;
    double *__restrict r_lo = out.r_lo, *__restrict d_up = out.d_up, *__restrict d_lo = out.d_lo;
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) {
        const IntervalTerms t = L::terms(upper[i], lower[i]);
        const double r = t.ra - t.rb, g = t.ga - t.gb, h = t.ha - t.hb;
        const double up = t.ga - r * t.ra, lo = r * t.rb - t.gb;
        log_pi[i] = upper[i] > lower[i] ? t.log_pi : IMPOSSIBLE;
        r_[i] = r;
        d_[i] = r * r - g;
        c_[i] = 2.0 * r * r * r - 3.0 * r * g + h;
        l_up[i] = -t.ra;
        l_lo[i] = t.rb;
        r_up[i] = up;
        r_lo[i] = lo;
        d_up[i] = 2.0 * r * up - t.ha + g * t.ra;
        d_lo[i] = 2.0 * r * lo + t.hb - g * t.rb;
    }
}

template <class L>
ORDBRIDGE_INLINE void fill_log(std::size_t n, const double* __restrict upper, const double* __restrict lower,
                               double* __restrict out) {
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) {
        const double log_pi = L::terms(upper[i], lower[i]).log_pi;
        out[i] = upper[i] > lower[i] ? log_pi : IMPOSSIBLE;
    }
}

ORDBRIDGE_CLONES void fill_probit(std::size_t n, const double* upper, const double* lower, const RowDerivatives& out) {
    fill<Probit>(n, upper, lower, out);
}

ORDBRIDGE_CLONES void fill_logit(std::size_t n, const double* upper, const double* lower, const RowDerivatives& out) {
    fill<Logit>(n, upper, lower, out);
}

ORDBRIDGE_CLONES void fill_cloglog(std::size_t n, const double* upper, const double* lower, const RowDerivatives& out) {
    fill<Cloglog>(n, upper, lower, out);
}

ORDBRIDGE_CLONES void fill_loglog(std::size_t n, const double* upper, const double* lower, const RowDerivatives& out) {
    fill<Loglog>(n, upper, lower, out);
}

ORDBRIDGE_CLONES void log_probit(std::size_t n, const double* upper, const double* lower, double* out) {
    fill_log<Probit>(n, upper, lower, out);
}

ORDBRIDGE_CLONES void log_logit(std::size_t n, const double* upper, const double* lower, double* out) {
    fill_log<Logit>(n, upper, lower, out);
}

ORDBRIDGE_CLONES void log_cloglog(std::size_t n, const double* upper, const double* lower, double* out) {
    fill_log<Cloglog>(n, upper, lower, out);
}

ORDBRIDGE_CLONES void log_loglog(std::size_t n, const double* upper, const double* lower, double* out) {
    fill_log<Loglog>(n, upper, lower, out);
}

double within_reach(double x) { return x > BEYOND ? BEYOND : (x < -BEYOND ? -BEYOND : x); }

}  // namespace

IntervalTerms interval_terms(Link link, double a, double b) {
    if (!(a > b)) return {IMPOSSIBLE, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
    a = within_reach(a);
    b = within_reach(b);
    switch (link) {
        case Link::probit: return Probit::terms(a, b);
        case Link::logit: return Logit::terms(a, b);
        case Link::cloglog: return Cloglog::terms(a, b);
        case Link::loglog: return Loglog::terms(a, b);
        default: return Cauchit::terms(a, b);
    }
}

namespace {

// f'''(x) / f(x)
double third(Link link, double x) {
    switch (link) {
        case Link::probit: return (3.0 - x * x) * x;
        case Link::logit: {
            const double s = -std::tanh(0.5 * x);
            return (3.0 * s * s - 2.0) * s;
        }
        case Link::cloglog: {
            const double e = std::exp(x);
            return 1.0 + e * (-7.0 + e * (6.0 - e));
        }
        case Link::loglog: return -third(Link::cloglog, -x);
        default: {
            const double s = 1.0 / (1.0 + x * x);
            return 24.0 * (x * s) * (1.0 - x * x) * s * s;
        }
    }
}

}  // namespace

// With G = ga - gb: dr/da = ga - ra r, dr/db = rb r - gb, dG/da = ha - ra G, dG/db = rb G - hb, and so on.
IntervalCurvature interval_curvature(Link link, double a, double b) {
    const IntervalTerms t = interval_terms(link, a, b);
    const auto fourth = [&](double share, double x) { return share > 0.0 && std::abs(x) < BEYOND ? share * third(link, x) : 0.0; };
    const double ra = t.ra, rb = t.rb, ga = t.ga, gb = t.gb, ha = t.ha, hb = t.hb, r = ra - rb, G = ga - gb;
    const double ka = fourth(ra, a), kb = fourth(rb, b);
    const double r_a = ga - ra * r, r_b = rb * r - gb, G_a = ha - ra * G, G_b = rb * G - hb;
    const double ra_a = ga - ra * ra, rb_b = gb + rb * rb;
    IntervalCurvature c;
    c.l_aa = -ra_a;
    c.l_ab = -ra * rb;
    c.l_bb = rb_b;
    c.r_aa = ha - ga * ra - ra_a * r - ra * r_a;
    c.r_ab = ga * rb - ra * rb * r - ra * r_b;
    c.r_bb = -hb - gb * rb + rb_b * r + rb * r_b;
    c.d_aa = 2.0 * (r_a * r_a + r * c.r_aa) - ka + ha * ra + ra_a * G + ra * G_a;
    c.d_ab = 2.0 * (r_a * r_b + r * c.r_ab) - ha * rb + ra * rb * G + ra * G_b;
    c.d_bb = 2.0 * (r_b * r_b + r * c.r_bb) + kb + hb * rb - rb_b * G - rb * G_b;
    return c;
}

void log_probabilities(Link link, std::size_t n, const double* upper, const double* lower, double* out) {
    switch (link) {
        case Link::probit: return log_probit(n, upper, lower, out);
        case Link::logit: return log_logit(n, upper, lower, out);
        case Link::cloglog: return log_cloglog(n, upper, lower, out);
        case Link::loglog: return log_loglog(n, upper, lower, out);
        default: return fill_log<Cauchit>(n, upper, lower, out);
    }
}

void row_derivatives(Link link, std::size_t n, const double* upper, const double* lower, const RowDerivatives& out) {
    switch (link) {
        case Link::probit: return fill_probit(n, upper, lower, out);
        case Link::logit: return fill_logit(n, upper, lower, out);
        case Link::cloglog: return fill_cloglog(n, upper, lower, out);
        case Link::loglog: return fill_loglog(n, upper, lower, out);
        default: return fill<Cauchit>(n, upper, lower, out);
    }
}

}  // namespace ordbridge
