#include "elimination.hpp"

#include "crossed.hpp"
#include "sparse.hpp"

namespace ordbridge {

std::unique_ptr<Elimination> make_elimination(const Design& design) {
    if (design.factors.size() > 2) return std::make_unique<SparseElimination>(design);
    return std::make_unique<CrossedElimination>(design);
}

}  // namespace ordbridge
