#include "elimination.hpp"

#include <algorithm>

#include "crossed.hpp"
#include "family.hpp"
#include "sparse.hpp"

namespace ordbridge {
namespace {

constexpr double CHEAP = 1e10;  // multiplications below which no other way is looked for
constexpr double DENSE = 8.0;   // how many of a dense matrix take as long as one of a level and its neighbours
constexpr int LARGE = 300;      // effects of a second factor from which two factors are a family and the rest as well

// With many levels and few effects of each, second derivatives by families need fewer products of matrices.
bool is_large(const Design& design) {
    const Factor &first = design.factors[0], &second = design.factors[1];
    if (first.size > 2 || second.size > 2) return false;
    for (int c = 0; c < design.components(); ++c)
        if ((second.component[c + 1] - second.component[c]) * second.size >= LARGE) return true;
    return false;
}

}  // namespace

// Column by column, for the few models of which levels are eliminated one by one.
void Elimination::dense_inverse(int, const std::vector<int>& effects, double* out) const {
    Vector x;
    for (std::size_t k = 0; k < effects.size(); ++k) {
        x.assign(effects_, 0.0);
        x[effects[k]] = 1.0;
        solve(x);
        for (std::size_t j = 0; j < effects.size(); ++j) out[k * effects.size() + j] = x[effects[j]];
    }
}

double Elimination::dense_cost(int, std::size_t effects) const { return cost() * static_cast<double>(effects); }

void mirror(const std::vector<int>& rank, double* out) {
    constexpr std::size_t TILE = 16;  // by tiles, because a column touches a page for every number
    const std::size_t m = rank.size();
    for (std::size_t top = 0; top < m; top += TILE)
        for (std::size_t left = 0; left < m; left += TILE)
            for (std::size_t i = top; i < std::min(top + TILE, m); ++i)
                for (std::size_t j = left; j < std::min(left + TILE, m); ++j)
                    if (rank[i] < rank[j]) out[i * m + j] = out[j * m + i];
}

std::unique_ptr<Elimination> make_elimination(const Design& design) {
    const std::size_t factors = design.factors.size();
    if (design.one_by_one) return std::make_unique<SparseElimination>(design);
    if (factors == 1 || (factors == 2 && !is_large(design))) return std::make_unique<CrossedElimination>(design);
    const FamilyElimination::Choice choice = FamilyElimination::choose(design);
    if (factors > 2 && choice.cost > CHEAP) {
        auto sparse = std::make_unique<SparseElimination>(design);
        if (DENSE * sparse->cost() < choice.cost) return sparse;
    }
    return std::make_unique<FamilyElimination>(design, choice);
}

}  // namespace ordbridge
