// Coefficients of all pairs of raters at once. The common items of a pair are a cross table, of which only filled cells
// are kept: cells start[p] to start[p + 1] belong to pair p, and cell i holds count[i] items that the first rater put
// into category x[i] and the second into y[i]. What ends in _left is the same without one item of a cell.
#pragma once

#include <cstdint>
#include <vector>

namespace ordbridge {

struct Cells {
    std::vector<std::int64_t> start, x, y;
    std::vector<double> count;
};

struct PairAgreement {
    std::vector<double> observed, expected, observed_left, expected_left;
};

// Cohen's sums with the weights w, a q x q matrix row by row: observed of n items, expected of n * n pairs of items.
PairAgreement pair_agreement(const Cells& cells, const std::vector<double>& w, std::int64_t q);

struct Comparisons {
    std::vector<double> concordant, discordant, tied_first, tied_second;
};

// For one item of each cell: how many other items of the pair are concordant, discordant, tied for either rater.
Comparisons pair_comparisons(const Cells& cells);

struct Correlations {
    std::vector<double> whole, left;
};

// Spearman's rho, with ranks taken anew without an item; Pearson's r of the points of the categories.
Correlations pair_spearman(const Cells& cells);
Correlations pair_pearson(const Cells& cells, const std::vector<double>& points);

}  // namespace ordbridge
