// Elimination for one grouping factor or two crossed ones.
//
// With A_g = I + M11_g (block diagonal), C_p = M12_p and B_h = I + M22_h the blocks of H, factor 1, the one with more
// effects, is eliminated: S = B - C'A^-1 C is dense within each connected component of the graph of levels and zero
// between components, so every component is handled on its own. With W_p = A_g^-1 C_p the inverse N of H, where it is
// needed, is
//
//     N22 = S^-1,   N12_p = -sum over the pairs p' of g of W_p' N22[h', h],   N11_g = A_g^-1 - sum N12_p W_p'.
//
// See Bates, Maechler, Bolker & Walker (2015), J. Stat. Software 67(1), for the same elimination by sparse factorisation.
#pragma once

#include "elimination.hpp"

namespace ordbridge {

class CrossedElimination final : public Elimination {
  public:
    explicit CrossedElimination(const Design& design);
    double factorise(const BlockMatrix& M) override;
    void forward(Vector& x) const override;
    void backward(Vector& x) const override;
    void selected_inverse(BlockMatrix& N) override;
    void diagonal_inverse(BlockMatrix& N) override;
    void dense_inverse(int component, const std::vector<int>& effects, double* out) const override;
    double cost() const override;
    double dense_cost(int component, std::size_t effects) const override;

    // What second derivatives need beside: the Cholesky factors of A_g, and of a component's S.
    const Vector& factors_of_first() const { return A_; }
    const Vector& factor_of_rest(int c) const { return components_[c].S; }

  private:
    // The levels of both factors in one component, numbered from first1 and first2.
    struct Component {
        int first1, last1, first2, last2;
        bool full;     // so many of its pairs are in the data that full matrices are faster
        Vector U;      // chol(A)^-1 C: levels of factor 1 down, levels of factor 2 across, if full
        Vector S;      // the Cholesky factor of S, size × size
        int size, rows;  // effects of factor 2 and factor 1
    };

    bool factorise_first(const BlockMatrix& M, double& logdet);
    void inverse_of_first(BlockMatrix& N) const;
    void fill(const Component& c, const Vector& blocks, double* out) const;
    void add_to_diagonal(const Component& c, const Vector& M22, double* S) const;
    void gather(const Component& c, int g, const double* blocks, Vector& U, std::vector<int>& columns) const;
    void subtract_squares(Component& c) const;
    Vector weights(const Component& c) const;
    void inverse_full(const Component& c, const Vector& N22, BlockMatrix& N) const;
    void inverse_by_pairs(const Component& c, const Vector& N22, BlockMatrix& N) const;
    std::vector<std::size_t> places(int component, const std::vector<int>& effects) const;
    void dense_inverse_by_pairs(const Component& c, const std::vector<std::size_t>& place, double* out) const;
    void store_second(const Component& c, const Vector& N22, BlockMatrix& N) const;

    const Design& design_;
    const Factor& first_;
    const Factor* second_;
    const Pairs* pairs_;
    int q1_, q2_;
    Vector A_;  // Cholesky factors of A_g
    Vector U_;  // chol(A_g)^-1 C_p, in components that are not full
    std::vector<Component> components_;
};

}  // namespace ordbridge
