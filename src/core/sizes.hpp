// Loops over the one to four random effects of a level with their number known to the compiler.
#pragma once

#include <type_traits>

namespace ordbridge {

struct AnySize {
    int value;
    constexpr operator int() const { return value; }
};

// Call f with `size`, as a constant of the compiler where it is small.
template <class F>
inline void with_size(int size, F&& f) {
    switch (size) {
        case 1: return f(std::integral_constant<int, 1>{});
        case 2: return f(std::integral_constant<int, 2>{});
        case 3: return f(std::integral_constant<int, 3>{});
        case 4: return f(std::integral_constant<int, 4>{});
        default: return f(AnySize{size});
    }
}

template <class F>
inline void with_sizes(int first, int second, F&& f) {
    with_size(first, [&](auto p) { with_size(second, [&](auto q) { f(p, q); }); });
}

}  // namespace ordbridge
