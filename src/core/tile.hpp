// The product of two packed strips, in registers: the innermost loop of every large product.
//
// It is written with vectors of four numbers, which the compiler splits where a processor handles fewer at a time.
// ORDBRIDGE_CLONES would split them everywhere, hence the two definitions from one text.
#pragma once

#include <cstddef>

#include "simd.hpp"

namespace ordbridge::dense {

constexpr std::ptrdiff_t TALL = 6, WIDE = 8;

typedef double Four __attribute__((vector_size(32), aligned(8)));

// tile = A B: A holds TALL numbers for every k, B holds WIDE
#define ORDBRIDGE_TILE(name, attribute)                                                                   \
    attribute inline void name(std::ptrdiff_t depth, const double* A, const double* B, double* tile) {    \
        Four left[TALL] = {}, right[TALL] = {};                                                           \
        for (std::ptrdiff_t k = 0; k < depth; ++k, A += TALL, B += WIDE) {                                \
            const Four b0 = *reinterpret_cast<const Four*>(B), b1 = *reinterpret_cast<const Four*>(B + 4); \
            _Pragma("GCC unroll 6") for (std::ptrdiff_t i = 0; i < TALL; ++i) {                           \
                left[i] += A[i] * b0;                                                                     \
                right[i] += A[i] * b1;                                                                    \
            }                                                                                             \
        }                                                                                                 \
        _Pragma("GCC unroll 6") for (std::ptrdiff_t i = 0; i < TALL; ++i) {                               \
            *reinterpret_cast<Four*>(tile + i * WIDE) = left[i];                                          \
            *reinterpret_cast<Four*>(tile + i * WIDE + 4) = right[i];                                     \
        }                                                                                                 \
    }

ORDBRIDGE_TILE(multiply_tile_anywhere, )
#if defined(ORDBRIDGE_HAS_CLONES)
ORDBRIDGE_TILE(multiply_tile_haswell, __attribute__((target("avx2,fma"))))
#endif
#undef ORDBRIDGE_TILE

using MultiplyTile = void (*)(std::ptrdiff_t, const double*, const double*, double*);

inline MultiplyTile best_tile() {
#if defined(ORDBRIDGE_HAS_CLONES)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return multiply_tile_haswell;
#endif
    return multiply_tile_anywhere;
}

}  // namespace ordbridge::dense
