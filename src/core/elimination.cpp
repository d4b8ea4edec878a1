#include "elimination.hpp"

#include "crossed.hpp"
#include "family.hpp"
#include "sparse.hpp"

namespace ordbridge {
namespace {

constexpr double CHEAP = 1e10;  // multiplications below which no other way is looked for
constexpr double DENSE = 8.0;   // how many of a dense matrix take as long as one of a level and its neighbours

}  // namespace

std::unique_ptr<Elimination> make_elimination(const Design& design) {
    if (design.factors.size() <= 2) return std::make_unique<CrossedElimination>(design);
    const FamilyElimination::Choice choice = FamilyElimination::choose(design);
    if (choice.cost > CHEAP) {
        auto sparse = std::make_unique<SparseElimination>(design);
        if (DENSE * sparse->cost() < choice.cost) return sparse;
    }
    return std::make_unique<FamilyElimination>(design, choice);
}

}  // namespace ordbridge
