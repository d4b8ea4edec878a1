// exp, expm1, log and Mills' ratio without branches or tables, for loops that the compiler vectorises.
//
// Each is accurate to a few units in the last place (tests/fast/test_links.py holds the links to 1e-14).
#pragma once

#include <cstdint>
#include <cstring>

#include "simd.hpp"

namespace ordbridge {

ORDBRIDGE_INLINE std::uint64_t bits_of(double x) {
    std::uint64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}

ORDBRIDGE_INLINE double from_bits(std::uint64_t bits) {
    double x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

struct Exponential {
    double exp;    // e^x, 0 below -708
    double expm1;  // e^x - 1, accurate near x = 0
};

// x = k log 2 + r with |r| < 0.35, and the series of e^r - 1.
ORDBRIDGE_INLINE Exponential exponential(double x) {
    constexpr double shift = 0x1.8p52;  // adding it rounds to an integer, whose bits are then the lowest ones
    const double low = x < -708.0 ? -708.0 : x;
    const double clamped = low > 709.0 ? 709.0 : low;
    const double shifted = clamped * 0x1.71547652b82fep+0 + shift;
    const double k = shifted - shift;
    const double r = (clamped - k * 0x1.62e42feep-1) - k * 0x1.a39ef35793c76p-33;
    const double r2 = r * r, r4 = r2 * r2, r8 = r4 * r4;
    const double low4 = (1.0 / 2 + r * (1.0 / 6)) + r2 * (1.0 / 24 + r * (1.0 / 120));
    const double mid4 = (1.0 / 720 + r * (1.0 / 5040)) + r2 * (1.0 / 40320 + r * (1.0 / 362880));
    const double high4 = (1.0 / 3628800 + r * (1.0 / 39916800)) + r2 * (1.0 / 479001600 + r * (1.0 / 6227020800.0));
    const double p = r + r2 * (low4 + r4 * mid4 + r8 * high4);  // e^r - 1
    const double scale = from_bits((bits_of(shifted) << 52) + (std::uint64_t{1023} << 52));
    const double value = scale + scale * p;
    return {x < -708.0 ? 0.0 : value, x < -708.0 ? -1.0 : scale * p + (scale - 1.0)};
}

// log x for positive normal x: x = m 2^k with m between 1/sqrt 2 and sqrt 2, and the series of 2 atanh((m-1)/(m+1)).
// -inf for x = 0 and what is smaller.
ORDBRIDGE_INLINE double logarithm(double x) {
    constexpr std::uint64_t sqrt_half = 0x3fe6a09e667f3bcd, bias = std::uint64_t{1024} << 52;
    const std::uint64_t biased = (bits_of(x) - sqrt_half + bias) >> 52;  // k + 1024
    const double m = from_bits(bits_of(x) - ((biased - 1024) << 52));
    const double k = from_bits(biased | 0x4330000000000000) - (0x1p52 + 1024.0);
    const double f = m - 1.0, s = f / (2.0 + f), z = s * s, z2 = z * z, z4 = z2 * z2;
    const double low4 = (2.0 / 3 + z * (2.0 / 5)) + z2 * (2.0 / 7 + z * (2.0 / 9));
    const double mid4 = (2.0 / 11 + z * (2.0 / 13)) + z2 * (2.0 / 15 + z * (2.0 / 17));
    const double high3 = (2.0 / 19 + z * (2.0 / 21)) + z2 * (2.0 / 23);
    const double series = s * z * (low4 + z4 * (mid4 + z4 * high3));
    const double value = k * 0x1.62e42feep-1 + (k * 0x1.a39ef35793c76p-33 + (2.0 * s + series));
    return x >= 0x1p-1022 ? value : -__builtin_inf();
}

// (1 - Phi(x)) / phi(x) for x >= 0: a polynomial in t = (x - 5) / (x + 5), divided by 1 + x. The coefficients are those
// of the Chebyshev series of (1 + x) times the ratio, computed with 60 digits and written in powers of t.
ORDBRIDGE_INLINE double mills_ratio(double x) {
    constexpr double c[] = {
        1.1568486282918946, -0.2294875382521129, 0.077781598868735535, 0.025072179301611947,
        -0.066177600778993401, 0.061505045841013566, -0.038026592187762366, 0.0163482312692141,
        -0.0042012903106635737, 1.9530732893030048e-05, 0.00045704381820007954, -0.00013437474601255131,
        -2.4805458447214501e-05, 2.271112294988288e-05, -1.7723438185601556e-07, -3.2805670128955829e-06,
        3.2197131609042185e-07, 4.9681885033418365e-07, -6.7383234651770469e-08, -8.232321223515427e-08,
        1.0082895646260188e-08, 1.4010248782442869e-08, -1.0846925288860795e-09, -2.0394569774234491e-09,
        6.2883778554986767e-11, 1.7327578943235103e-10,
    };
    const double one = 1.0 + x, inverse = 1.0 / ((x + 5.0) * one);  // one division for both quotients
    const double t = (x - 5.0) * one * inverse, t2 = t * t;
    double even = c[24], odd = c[25];  // two chains of multiplications are shorter than one
    for (int i = 22; i >= 0; i -= 2) {
        even = even * t2 + c[i];
        odd = odd * t2 + c[i + 1];
    }
    return (even + odd * t) * ((x + 5.0) * inverse);
}

}  // namespace ordbridge
