// Elimination for any number of grouping factors, crossed or nested.
//
// The levels are the nodes of a graph, joined where they meet in a row. They are eliminated one after the other in an order
// that keeps fill low (the node with the fewest neighbours next: minimum degree, George & Liu 1989, SIAM Review 31, 1-19),
// until what is left is nearly full; that rest is one dense matrix S. With A_v = R R' the block of node v when its turn
// comes and U_vw = R^-1 H_vw its blocks with later neighbours w,
//
//     H_ww' -= U_vw'U_vw'     for all pairs of neighbours.
//
// The blocks of the inverse N that belong to edges follow backwards (Takahashi, Fagan & Chin 1973): with W_v = R'^-1 U_v,
//
//     N_vw = -sum over neighbours w' of W_vw' N_w'w,      N_vv = A_v^-1 - sum N_vw W_vw'.
#pragma once

#include "elimination.hpp"

namespace ordbridge {

class SparseElimination final : public Elimination {
  public:
    explicit SparseElimination(const Design& design);
    double factorise(const BlockMatrix& M) override;
    void forward(Vector& x) const override;
    void backward(Vector& x) const override;
    void selected_inverse(BlockMatrix& N) override;
    void diagonal_inverse(BlockMatrix& N) override { selected_inverse(N); }
    double cost() const override;  // about how many multiplications an evaluation takes

  private:
    struct Node {
        int size, effects;             // random effects, and where they begin in a vector over all
        int rank = -1;                 // when it is eliminated; nodes of the rest come after all others
        int rest = -1;                 // where its effects begin in the rest
        std::vector<int> later;        // neighbours that are eliminated after it, in that order
        std::vector<int> column;       // where each of them begins in U, and the width of U
        Vector A, U;                   // Cholesky factor of its block, and U (size × width)
        Vector N_own, N_later;         // the same places in the inverse
        int width() const { return column.back(); }
    };
    // Where the block of two nodes is kept: in U of the first to be eliminated, or in S.
    struct Place {
        double* block;
        std::size_t row_stride, column_stride;  // for the block seen as (first, second)
    };

    void order(const Design& design);
    std::size_t position(const Node& node, int other) const;
    Place place(int first, int second, bool inverse);
    void eliminate(Node& node);
    void invert(Node& node);

    const Design& design_;
    std::vector<int> base_;   // node of level 0 of each factor
    std::vector<Node> nodes_;
    std::vector<int> order_;  // eliminated nodes
    std::vector<int> rest_;   // the nodes of the rest
    int rest_size_ = 0;
    Vector S_, N_rest_;       // of the rest: the Cholesky factor, and the inverse
};

}  // namespace ordbridge
