// Factoring H = I + M, where M = Z~'D Z~ has a block for every level and every pair of levels that meet in a row.
#pragma once

#include <memory>

#include "design.hpp"

namespace ordbridge {

class Elimination {
  public:
    explicit Elimination(std::size_t effects) : effects_(effects) {}
    virtual ~Elimination() = default;

    // The Cholesky factors with which Z~ = Z L was made, before M is factored.
    virtual void set(const Cholesky&) {}

    // Factor H = R R'; return log det H, NaN if it is not positive definite.
    virtual double factorise(const BlockMatrix& M) = 0;

    virtual void forward(Vector& x) const = 0;   // x = R^-1 x
    virtual void backward(Vector& x) const = 0;  // x = R'^-1 x; of standard normal numbers it makes draws with covariance H^-1

    // x = H^-1 x
    void solve(Vector& x) const {
        forward(x);
        backward(x);
    }

    // Fill N with the blocks of H^-1 that belong to levels and pairs.
    virtual void selected_inverse(BlockMatrix& N) = 0;

    // Fill all of N of a connected component, in the order in which its effects are given. After selected_inverse.
    virtual void dense_inverse(int component, const std::vector<int>& effects, double* out) const;

    // About how many multiplications an evaluation takes, and dense_inverse.
    virtual double cost() const = 0;
    virtual double dense_cost(int component, std::size_t effects) const;

    // Fill the blocks that belong to levels only; those of pairs may be left as they were.
    virtual void diagonal_inverse(BlockMatrix& N) = 0;

  private:
    std::size_t effects_;  // of the whole model
};

// Complete a symmetric matrix of which every two places of different rank are set in the row of the higher one.
void mirror(const std::vector<int>& rank, double* out);

std::unique_ptr<Elimination> make_elimination(const Design& design);

}  // namespace ordbridge
