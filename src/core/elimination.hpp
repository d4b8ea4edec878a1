// Factoring H = I + M, where M = Z~'D Z~ has a block for every level and every pair of levels that meet in a row.
#pragma once

#include <memory>

#include "design.hpp"

namespace ordbridge {

class Elimination {
  public:
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

    // Fill the blocks that belong to levels only; those of pairs may be left as they were.
    virtual void diagonal_inverse(BlockMatrix& N) = 0;
};

std::unique_ptr<Elimination> make_elimination(const Design& design);

}  // namespace ordbridge
