// Signed random effects of paired comparisons with one variance per grouping: elimination of H = Z'WZ + prior.
//
// Every row touches two columns of its own block (the level of the larger grouping, a column for each system that it saw)
// and a few columns of a dense rest (the other grouping and the coefficients). The blocks are eliminated one by one; what
// they leave of the rest is factored as a whole.
#pragma once

#include <cstdint>
#include <vector>

namespace ordbridge {

struct TiedRows {
    std::vector<std::int64_t> block;         // of each row, not decreasing
    std::vector<std::int64_t> plus, minus;   // its columns among all blocks' columns; −1 where there are no blocks
    std::vector<std::int64_t> rest_column;   // n × width, −1 for none
    std::vector<double> rest_value;          // n × width
    std::int64_t width = 0;                  // columns of the rest that a row can touch
    std::int64_t own = 0, rest = 0, random_rest = 0;
};

class TiedSolver {
public:
    explicit TiedSolver(TiedRows rows);

    std::int64_t rows() const { return static_cast<std::int64_t>(data_.block.size()); }
    std::int64_t own() const { return data_.own; }
    std::int64_t rest() const { return data_.rest; }

    // Z x and Z'r for columns that are multiplied by `own_scale` and `rest_scale`.
    std::vector<double> predictor(const double* x, double own_scale, double rest_scale) const;
    std::vector<double> pulled(const double* r, double own_scale, double rest_scale) const;

    // Factor H for these weights; returns its log determinant, NaN where it is not positive definite.
    double factor(const double* weight, double own_scale, double rest_scale);
    std::vector<double> solve(const double* right) const;

    // The last `columns` rows and columns of the inverse of H.
    std::vector<double> covariance(std::int64_t columns) const;

    // z'H⁻¹z of every row, and the parts of it that blocks and the random columns of the rest have: 3 × n.
    std::vector<double> spread() const;

private:
    struct Block {
        std::int64_t begin, end;           // rows
        std::int64_t first, size;          // own columns
        std::vector<std::int64_t> touched; // columns of the rest
    };
    double scaled(std::int64_t row, std::int64_t k) const;

    TiedRows data_;
    std::vector<Block> blocks_;
    std::vector<std::int64_t> local_;      // n × width: place of a column among those that its block touches
    double own_scale_ = 1.0, rest_scale_ = 1.0;
    std::vector<std::vector<double>> lower_, gain_;  // per block: Cholesky factor, L⁻¹ B
    std::vector<double> L_;                // of the rest
};

}  // namespace ordbridge
