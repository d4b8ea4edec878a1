// Elimination for three and more grouping factors by families.
//
// A family is a factor with those nested in it, such as items and items within systems. The levels of a family that
// belong together make a block, and H is block diagonal within the family. With A_g = R R' the block, C_g its part across
// to the effects of all other factors (the rest) and B theirs,
//
//     U_g = R^-1 C_g,   S = B - sum over blocks of U_g'U_g,   W_g = R'^-1 U_g,
//     N22 = S^-1,       N12_g = -W_g N22,                      N11_g = A_g^-1 - N12_g W_g',
//
// as in crossed.hpp. Where a factor of the rest is nested in another, S is made smaller first (parents.hpp). So terms for interactions cost little more than those of their factors, and a third crossed factor
// little more than its levels. S is dense within a connected component.
#pragma once

#include <optional>

#include "elimination.hpp"
#include "parents.hpp"

namespace ordbridge {

class FamilyElimination final : public Elimination {
  public:
    // Which factors are eliminated first, and about how many multiplications an evaluation then takes.
    struct Choice {
        std::vector<char> eliminated;  // per factor
        int root;
        double cost;
    };
    static Choice choose(const Design& design);

    FamilyElimination(const Design& design, const Choice& choice);
    void set(const Cholesky& L) override;
    double factorise(const BlockMatrix& M) override;
    void forward(Vector& x) const override;
    void backward(Vector& x) const override;
    void selected_inverse(BlockMatrix& N) override;
    void diagonal_inverse(BlockMatrix& N) override;
    void dense_inverse(int component, const std::vector<int>& effects, double* out) const override;
    double cost() const override;
    double dense_cost(int component, std::size_t effects) const override;

    // Levels of the family that belong together, and the effects of the rest that they meet.
    struct Block {
        int size, width;           // of the block, and of C_g
        std::size_t A, U;          // where both begin in the numbers
        std::vector<int> effects;  // in a vector over all
        std::vector<int> columns;  // of the component's rest
    };
    struct Component {
        std::size_t first, last;   // blocks
        bool full;                 // every block meets, or is kept as if it met, all of the rest
        std::size_t U, S;          // where they begin in the numbers; U of all blocks if full
        int rows, size;            // effects of all blocks, and of the rest
        std::vector<int> effects;  // of the rest
        std::optional<Parents> parents;
    };
    // What second derivatives need beside (moments.hpp): A and S hold Cholesky factors, of the inverse they hold N.
    const std::vector<Block>& blocks() const { return blocks_; }
    const std::vector<Component>& components() const { return components_; }
    const Vector& factors() const { return values_; }
    const Vector& inverse() const { return inverse_; }  // after selected_inverse or diagonal_inverse
    Vector unfactored(const BlockMatrix& M) const;       // the same places of M
    bool eliminated(int factor) const { return choice_.eliminated[factor]; }

  private:
    // Where the block of a level or of a pair of levels begins in the numbers, and how far its entries are apart.
    struct Place {
        std::size_t at;
        int row, column;
    };

    void make_components();
    void make_parents();
    void make_places();
    void solve_rest(const Component& c, Vector& x, bool transposed) const;
    Place place(int one, int other) const;
    void scatter(const BlockMatrix& M, double diagonal, Vector& to) const;
    void subtract_squares(const Component& c);
    void invert_blocks(const Component& c);

    const Design& design_;
    Choice choice_;
    int parent_ = -1, child_ = -1;  // factors of the rest, the second nested in the first
    std::vector<Block> blocks_;
    std::vector<Component> components_;
    std::vector<int> block_of_, in_block_;  // per effect its block, -1 in the rest, and its place there or in the rest
    std::vector<int> component_of_;         // per effect
    std::vector<std::vector<Place>> own_, cross_;
    Vector values_, inverse_;
};

}  // namespace ordbridge
