// The product of two packed strips, in registers: the innermost loop of every large product.
//
// It is written with vectors of four or eight numbers. ORDBRIDGE_CLONES would split them everywhere, hence one definition
// for every kind of processor, from one text. The sum of a product is the same for any way to cut it into tiles.
#pragma once

#include <cstddef>

#include "simd.hpp"

namespace ordbridge::dense {

typedef double Four __attribute__((vector_size(32), aligned(8)));
typedef double Eight __attribute__((vector_size(64), aligned(8)));

// C += scale * A B, C with rows `stride` apart: A holds TALL numbers for every k, B two vectors of them
#define ORDBRIDGE_TILE(name, attribute, Several, tall, lanes)                                              \
    struct name {                                                                                         \
        static constexpr std::ptrdiff_t TALL = tall, WIDE = 2 * lanes;                                     \
        attribute static void add(std::ptrdiff_t depth, const double* A, const double* B, double scale,   \
                                  double* C, std::ptrdiff_t stride) {                                     \
            Several left[tall] = {}, right[tall] = {};                                                    \
            for (std::ptrdiff_t k = 0; k < depth; ++k, A += tall, B += 2 * lanes) {                       \
                const Several b0 = *reinterpret_cast<const Several*>(B);                                  \
                const Several b1 = *reinterpret_cast<const Several*>(B + lanes);                          \
                _Pragma("GCC unroll 12") for (std::ptrdiff_t i = 0; i < tall; ++i) {                      \
                    left[i] += A[i] * b0;                                                                 \
                    right[i] += A[i] * b1;                                                                \
                }                                                                                         \
            }                                                                                             \
            _Pragma("GCC unroll 12") for (std::ptrdiff_t i = 0; i < tall; ++i) {                          \
                *reinterpret_cast<Several*>(C + i * stride) += scale * left[i];                           \
                *reinterpret_cast<Several*>(C + i * stride + lanes) += scale * right[i];                  \
            }                                                                                             \
        }                                                                                                 \
    };

ORDBRIDGE_TILE(TileAnywhere, , Four, 6, 4)
#if defined(ORDBRIDGE_HAS_CLONES)
ORDBRIDGE_TILE(TileHaswell, __attribute__((target("avx2,fma"))), Four, 6, 4)
ORDBRIDGE_TILE(TileSkylake, __attribute__((target("avx512f,fma"))), Eight, 12, 8)
#endif
#undef ORDBRIDGE_TILE

}  // namespace ordbridge::dense
