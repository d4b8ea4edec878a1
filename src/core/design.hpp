// Who rates what: the levels of every grouping factor, and where levels of two factors meet in a row.
//
// The rows are sorted (by ordbridge.fast.structure) so that levels of what is connected come together. A vector over all
// random effects holds factor after factor, level after level.
#pragma once

#include <cstdint>
#include <vector>

namespace ordbridge {

using Vector = std::vector<double>;

struct Factor {
    int levels, size, offset;  // size: random effects of a level; offset: where its effects begin in a vector over all
    std::vector<int> level;    // of each row
    Vector z;                  // rows × size
    std::vector<int> component;  // component c has the levels component[c] … component[c + 1] - 1
    double* of(Vector& effects, int g) const { return &effects[offset + static_cast<std::size_t>(g) * size]; }
    const double* of(const Vector& effects, int g) const { return &effects[offset + static_cast<std::size_t>(g) * size]; }
};

// The pairs of levels of two factors that meet in some row, sorted by the first factor's level, then the second's.
struct Pairs {
    int first, second;
    std::vector<int> of_row;
    std::vector<int> begin;    // level g of the first factor is in the pairs begin[g] … begin[g + 1] - 1
    std::vector<int> level;    // of the first factor, per pair
    std::vector<int> partner;  // the second factor's level, per pair
    int count() const { return static_cast<int>(partner.size()); }
};

struct Design {
    int n = 0, effects = 0;
    bool one_by_one = false;  // whether levels are eliminated one by one, as they are only where that is faster
    std::vector<Factor> factors;
    std::vector<Pairs> pairs;  // of factors (0, 1), (0, 2), (1, 2), …: for every factor, with all before it
    int components() const { return static_cast<int>(factors[0].component.size()) - 1; }
};

// Check what came from outside and describe it; throws std::invalid_argument with the reason.
//
// `level[f]` holds each row's level of factor f, from 0 and below levels[f]; `z[f]` its columns, rows × size[f];
// `component[f]` where each component's levels begin, and their number at the end.
Design make_design(const std::vector<std::vector<std::int64_t>>& level, const std::vector<Vector>& z,
                   const std::vector<int>& size, const std::vector<std::vector<std::int64_t>>& component);

// For every row the number of its connected component, numbered in the order in which components first occur.
std::vector<std::int64_t> components_of_rows(const std::vector<std::vector<std::int64_t>>& level);

// A symmetric matrix over all random effects, kept where it can be nonzero in Z'DZ: a block for every level and every pair.
struct BlockMatrix {
    std::vector<Vector> own;    // per factor: levels × size × size, both triangles
    std::vector<Vector> cross;  // per entry of Design::pairs: pairs × size of the first × size of the second
    explicit BlockMatrix(const Design& design);
};

// M = Z'DZ, with the rows of Z given per factor and D = diag(d), or the identity if d is null
void cross_products(const Design& design, const std::vector<const double*>& z, const double* d, BlockMatrix& M);

// out = M x
void multiply(const Design& design, const BlockMatrix& M, const Vector& x, Vector& out);

// out += for every level the sum of weight_i z_i
void add_row_sums(const Design& design, const std::vector<const double*>& z, const double* weights, Vector& out);

// eta_i += z_i' u of the row's levels
void add_row_products(const Design& design, const std::vector<const double*>& z, const Vector& u, double* eta);

// Where a free parameter is in the lower Cholesky factors L of the random effects' covariances.
struct Entry {
    int factor, row, column;
};

// The Cholesky factors of all grouping factors, size × size each.
using Cholesky = std::vector<Vector>;

Cholesky new_cholesky(const Design& design);
void set_entries(const Design& design, const std::vector<Entry>& entries, const double* values, Cholesky& L);
std::vector<Entry> make_entries(const Design& design, const std::vector<std::int64_t>& factor,
                                const std::vector<std::int64_t>& row, const std::vector<std::int64_t>& column);

// out_i = L'x_i for `count` vectors one after the other
void transposed_times(const double* L, int size, const double* x, std::size_t count, double* out);

}  // namespace ordbridge
