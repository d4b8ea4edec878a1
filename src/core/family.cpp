#include "family.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dense.hpp"
#include "rows.hpp"
#include "simd.hpp"

namespace ordbridge {
namespace {

using dense::Size;
constexpr double FULL = 0.3;  // share of all columns that blocks meet from which they are kept whole
constexpr double MOST_CHILDREN = 10.0;  // of a level, for which taking out their parent is worth it,
constexpr int SMALL = 24;               // and the least effects of the rest
constexpr double NOT_DEFINITE = std::numeric_limits<double>::quiet_NaN();

const Pairs& pairs_of(const Design& design, int one, int other) {
    const int first = std::min(one, other), second = std::max(one, other);
    return design.pairs[second * (second - 1) / 2 + first];
}

// Levels of `other` that a level of `one` meets, for all levels.
std::vector<std::vector<int>> partners(const Design& design, int one, int other) {
    const Pairs& pairs = pairs_of(design, one, other);
    const bool forwards = pairs.first == one;
    std::vector<std::vector<int>> found(design.factors[one].levels);
    for (int p = 0; p < pairs.count(); ++p)
        found[forwards ? pairs.level[p] : pairs.partner[p]].push_back(forwards ? pairs.partner[p] : pairs.level[p]);
    return found;
}

// to -= factor * from
ORDBRIDGE_CLONES void subtract(double factor, const double* from, double* to, std::size_t n) {
#pragma omp simd
    for (std::size_t k = 0; k < n; ++k) to[k] -= factor * from[k];
}

// Overwrite U (q × n) with R^-1 U, R lower triangular.
ORDBRIDGE_CLONES void lower_solve(const double* R, int q, double* U, Size n) {
    for (int a = 0; a < q; ++a) {
        double* row = U + a * n;
        for (int k = 0; k < a; ++k) {
            const double factor = R[a * q + k], *other = U + k * n;
#pragma omp simd
            for (Size b = 0; b < n; ++b) row[b] -= factor * other[b];
        }
        const double scale = 1.0 / R[a * q + a];
        for (Size b = 0; b < n; ++b) row[b] *= scale;
    }
}

ORDBRIDGE_CLONES void upper_solve(const double* R, int q, double* U, Size n) {
    for (int a = q - 1; a >= 0; --a) {
        double* row = U + a * n;
        for (int k = a + 1; k < q; ++k) {
            const double factor = R[k * q + a], *other = U + k * n;
#pragma omp simd
            for (Size b = 0; b < n; ++b) row[b] -= factor * other[b];
        }
        const double scale = 1.0 / R[a * q + a];
        for (Size b = 0; b < n; ++b) row[b] *= scale;
    }
}

}  // namespace

FamilyElimination::Choice FamilyElimination::choose(const Design& design) {
    const int factors = static_cast<int>(design.factors.size());
    Choice best{{}, 0, std::numeric_limits<double>::infinity()};
    for (int root = 0; root < factors; ++root) {
        Choice alone{std::vector<char>(factors, 0), root, 0.0};
        alone.eliminated[root] = 1;
        Choice all = alone;
        for (int f = 0; f < factors; ++f)
            if (f != root && pairs_of(design, root, f).count() == design.factors[f].levels) all.eliminated[f] = 1;
        for (Choice* choice : {&alone, &all}) {
            const Factor& own = design.factors[root];
            Vector size(own.levels, own.size), width(own.levels, 0.0), rest(design.components(), 0.0);
            for (int f = 0; f < factors; ++f) {
                const Factor& other = design.factors[f];
                if (f == root) continue;
                Vector& to = choice->eliminated[f] ? size : width;
                const auto met = partners(design, root, f);
                for (int g = 0; g < own.levels; ++g) to[g] += static_cast<double>(met[g].size()) * other.size;
                for (int c = 0; c < design.components() && !choice->eliminated[f]; ++c)
                    rest[c] += static_cast<double>(other.component[c + 1] - other.component[c]) * other.size;
            }
            for (int g = 0; g < own.levels; ++g)
                choice->cost += size[g] * (size[g] * size[g] + size[g] * width[g] + 2.0 * width[g] * width[g]);
            for (double m : rest) choice->cost += m * m * m;
            if (choice->cost < best.cost) best = *choice;
        }
    }
    return best;
}

FamilyElimination::FamilyElimination(const Design& design, const Choice& choice)
    : Elimination(design.effects), design_(design), choice_(choice) {
    make_components();
    make_places();
    make_parents();
}

void FamilyElimination::set(const Cholesky& L) {
    for (Component& c : components_)
        if (c.parents) c.parents->set(L[parent_][0], L[child_][0]);
}

// Look for a factor of the rest with one effect that is nested in another one with the same column.
void FamilyElimination::make_parents() {
    const int factors = static_cast<int>(design_.factors.size());
    for (int one = 0; one < factors && parent_ < 0; ++one)
        for (int two = 0; two < factors && parent_ < 0; ++two) {
            const Factor &first = design_.factors[one], &second = design_.factors[two];
            const bool rest = one != two && !choice_.eliminated[one] && !choice_.eliminated[two];
            if (rest && first.size == 1 && second.size == 1 && pairs_of(design_, one, two).count() == second.levels &&
                second.levels < MOST_CHILDREN * first.levels && first.z == second.z) {
                parent_ = one;
                child_ = two;
            }
        }
    if (parent_ < 0) return;
    const Factor &first = design_.factors[parent_], &second = design_.factors[child_];
    const auto nested = partners(design_, child_, parent_);
    for (Component& c : components_) {
        if (c.size < SMALL) continue;
        std::vector<int> parent(c.size, -1);
        for (int k = 0; k < c.size; ++k) {
            const int h = c.effects[k] - second.offset;
            if (h >= 0 && h < second.levels) parent[k] = in_block_[first.offset + nested[h][0]];
        }
        c.parents.emplace(parent);
    }
}

void FamilyElimination::make_components() {
    const int factors = static_cast<int>(design_.factors.size()), effects = design_.effects;
    block_of_.assign(effects, -1);
    in_block_.assign(effects, -1);
    component_of_.assign(effects, -1);
    const Factor& root = design_.factors[choice_.root];
    blocks_.resize(root.levels);
    const auto add = [](const Factor& factor, int g, std::vector<int>& to) {
        for (int a = 0; a < factor.size; ++a) to.push_back(factor.offset + g * factor.size + a);
    };
    for (int g = 0; g < root.levels; ++g) add(root, g, blocks_[g].effects);
    std::vector<std::vector<int>> met(root.levels);  // effects of the rest
    for (int f = 0; f < factors; ++f) {
        if (f == choice_.root) continue;
        const auto partner = partners(design_, choice_.root, f);
        for (int g = 0; g < root.levels; ++g)
            for (int h : partner[g]) add(design_.factors[f], h, choice_.eliminated[f] ? blocks_[g].effects : met[g]);
    }
    std::size_t next = 0;
    for (int c = 0; c < design_.components(); ++c) {
        Component own{static_cast<std::size_t>(root.component[c]), static_cast<std::size_t>(root.component[c + 1]), false, 0, 0,
                      0, 0, {}, {}};
        for (int f = 0; f < factors; ++f)
            for (int g = design_.factors[f].component[c]; g < design_.factors[f].component[c + 1]; ++g) {
                if (!choice_.eliminated[f]) add(design_.factors[f], g, own.effects);
            }
        own.size = static_cast<int>(own.effects.size());
        for (int k = 0; k < own.size; ++k) {
            in_block_[own.effects[k]] = k;
            component_of_[own.effects[k]] = c;
        }
        double share = 0.0;
        for (std::size_t g = own.first; g < own.last; ++g) {
            own.rows += static_cast<int>(blocks_[g].effects.size());
            share += static_cast<double>(blocks_[g].effects.size()) * met[g].size();
        }
        own.full = share > FULL * own.rows * own.size;
        for (std::size_t g = own.first; g < own.last; ++g) {
            Block& block = blocks_[g];
            block.size = static_cast<int>(block.effects.size());
            block.width = own.full ? own.size : static_cast<int>(met[g].size());
            block.A = next;
            next += static_cast<std::size_t>(block.size) * block.size;
            for (int k = 0; k < block.size; ++k) {
                block_of_[block.effects[k]] = static_cast<int>(g);
                in_block_[block.effects[k]] = k;
            }
            for (int k = 0; k < block.width; ++k) block.columns.push_back(own.full ? k : in_block_[met[g][k]]);
            std::sort(block.columns.begin(), block.columns.end());
        }
        own.U = next;
        for (std::size_t g = own.first; g < own.last; ++g) {
            blocks_[g].U = next;
            next += static_cast<std::size_t>(blocks_[g].size) * blocks_[g].width;
        }
        own.S = next;
        next += static_cast<std::size_t>(own.size) * own.size;
        components_.push_back(std::move(own));
    }
    values_.resize(next);
    inverse_.resize(next);
}

// The block between the effects that begin at `one` and at `other`.
FamilyElimination::Place FamilyElimination::place(int one, int other) const {
    const int g = block_of_[one], h = block_of_[other];
    if (g >= 0 && h >= 0) {
        const int size = blocks_[g].size, down = in_block_[one], right = in_block_[other];
        return {blocks_[g].A + static_cast<std::size_t>(down) * size + right, size, 1};
    }
    if (g < 0 && h < 0) {  // below the diagonal: of two factors the later one has the later rows
        const Component& c = components_[component_of_[one]];
        const int low = std::max(in_block_[one], in_block_[other]), high = std::min(in_block_[one], in_block_[other]);
        const std::size_t at = c.S + static_cast<std::size_t>(low) * c.size + high;
        return low == in_block_[one] ? Place{at, c.size, 1} : Place{at, 1, c.size};
    }
    const Block& block = blocks_[std::max(g, h)];
    const int row = g >= 0 ? one : other, column = g >= 0 ? other : one;
    const auto found = std::lower_bound(block.columns.begin(), block.columns.end(), in_block_[column]);
    const std::size_t at = block.U + static_cast<std::size_t>(in_block_[row]) * block.width + (found - block.columns.begin());
    return g >= 0 ? Place{at, block.width, 1} : Place{at, 1, block.width};
}

void FamilyElimination::make_places() {
    for (const Factor& factor : design_.factors) {
        own_.emplace_back();
        for (int g = 0; g < factor.levels; ++g)
            own_.back().push_back(place(factor.offset + g * factor.size, factor.offset + g * factor.size));
    }
    for (const Pairs& pairs : design_.pairs) {
        const Factor &first = design_.factors[pairs.first], &second = design_.factors[pairs.second];
        cross_.emplace_back();
        for (int p = 0; p < pairs.count(); ++p)
            cross_.back().push_back(place(first.offset + pairs.level[p] * first.size, second.offset + pairs.partner[p] * second.size));
    }
}

// Put the blocks of M, with so much added to its diagonal, where they belong: of A and S at least the lower triangles.
void FamilyElimination::scatter(const BlockMatrix& M, double diagonal, Vector& to) const {
    std::fill(to.begin(), to.end(), 0.0);
    for (std::size_t f = 0; f < own_.size(); ++f) {
        const int q = design_.factors[f].size;
        const double* block = M.own[f].data();
        for (const Place& place : own_[f]) {
            for (int a = 0; a < q; ++a) {
                for (int b = 0; b < q; ++b) to[place.at + a * place.row + b] = block[a * q + b];
                to[place.at + a * place.row + a] += diagonal;
            }
            block += q * q;
        }
    }
    for (std::size_t k = 0; k < cross_.size(); ++k) {
        const Pairs& pairs = design_.pairs[k];
        const int p = design_.factors[pairs.first].size, q = design_.factors[pairs.second].size;
        const bool within = choice_.eliminated[pairs.first] && choice_.eliminated[pairs.second];
        const double* block = M.cross[k].data();
        for (std::size_t pair = 0; pair < cross_[k].size(); ++pair, block += p * q) {
            const Place& place = cross_[k][pair];
            for (int a = 0; a < p; ++a)
                for (int b = 0; b < q; ++b) to[place.at + static_cast<std::size_t>(a) * place.row + static_cast<std::size_t>(b) * place.column] = block[a * q + b];
            if (!within) continue;  // blocks of a family are kept whole
            const Block& own = blocks_[block_of_[design_.factors[pairs.first].offset + pairs.level[pair] * p]];
            const std::size_t offset = place.at - own.A, mirrored = own.A + offset % own.size * own.size + offset / own.size;
            for (int a = 0; a < p; ++a)
                for (int b = 0; b < q; ++b) to[mirrored + static_cast<std::size_t>(b) * own.size + a] = block[a * q + b];
        }
    }
}

Vector FamilyElimination::unfactored(const BlockMatrix& M) const {
    Vector out(values_.size());
    scatter(M, 0.0, out);
    return out;
}

// S -= U'U, lower triangle
void FamilyElimination::subtract_squares(const Component& c) {
    double* S = &values_[c.S];
    if (c.full) {
        const dense::View U = dense::view(&values_[c.U], c.rows, c.size);
        return dense::add_product(-1.0, U.transposed(), U, S, c.size, dense::Part::lower);
    }
    for (std::size_t g = c.first; g < c.last; ++g)
        rows::subtract_square(&values_[blocks_[g].U], blocks_[g].size, blocks_[g].width, blocks_[g].columns.data(), S, c.size);
}

double FamilyElimination::factorise(const BlockMatrix& M) {
    scatter(M, 1.0, values_);
    double logdet = 0.0;
    const auto add_log = [&](const double* L, int m) {
        double product = 1.0;
        for (int a = 0; a < m; ++a) {
            product *= L[static_cast<std::size_t>(a) * m + a];
            if (!(product < 1e200) || product < 1e-200) {
                logdet += 2.0 * std::log(product);
                product = 1.0;
            }
        }
        logdet += 2.0 * std::log(product);
    };
    for (Component& c : components_) {
        for (std::size_t g = c.first; g < c.last; ++g) {
            const Block& block = blocks_[g];
            if (!dense::cholesky(&values_[block.A], block.size, block.size)) return NOT_DEFINITE;
            add_log(&values_[block.A], block.size);
            if (block.width) lower_solve(&values_[block.A], block.size, &values_[block.U], block.width);
        }
        if (c.size == 0) continue;
        subtract_squares(c);
        if (c.parents) {
            if (!c.parents->factorise(&values_[c.S], c.size, logdet)) return NOT_DEFINITE;
            continue;
        }
        if (!dense::cholesky(&values_[c.S], c.size, c.size)) return NOT_DEFINITE;
        add_log(&values_[c.S], c.size);
    }
    return std::isfinite(logdet) ? logdet : NOT_DEFINITE;
}

void FamilyElimination::solve_rest(const Component& c, Vector& x, bool transposed) const {
    if (c.parents) return c.parents->solve(x, transposed);
    if (c.size) (transposed ? dense::solve_lower_transposed : dense::solve_lower)(&values_[c.S], c.size, x.data());
}

void FamilyElimination::forward(Vector& x) const {
    Vector own, rest;
    for (const Component& c : components_) {
        rest.resize(c.size);
        for (int k = 0; k < c.size; ++k) rest[k] = x[c.effects[k]];
        for (std::size_t g = c.first; g < c.last; ++g) {
            const Block& block = blocks_[g];
            own.resize(block.size);
            for (int k = 0; k < block.size; ++k) own[k] = x[block.effects[k]];
            lower_solve(&values_[block.A], block.size, own.data(), 1);
            for (int k = 0; k < block.size; ++k) {
                x[block.effects[k]] = own[k];
                const double* row = values_.data() + block.U + static_cast<std::size_t>(k) * block.width;
                for (int j = 0; j < block.width; ++j) rest[block.columns[j]] -= row[j] * own[k];
            }
        }
        solve_rest(c, rest, false);
        for (int k = 0; k < c.size; ++k) x[c.effects[k]] = rest[k];
    }
}

void FamilyElimination::backward(Vector& x) const {
    Vector own, rest;
    for (const Component& c : components_) {
        rest.resize(c.size);
        for (int k = 0; k < c.size; ++k) rest[k] = x[c.effects[k]];
        solve_rest(c, rest, true);
        for (int k = 0; k < c.size; ++k) x[c.effects[k]] = rest[k];
        for (std::size_t g = c.first; g < c.last; ++g) {
            const Block& block = blocks_[g];
            own.resize(block.size);
            for (int k = 0; k < block.size; ++k) {
                const double* row = values_.data() + block.U + static_cast<std::size_t>(k) * block.width;
                double total = x[block.effects[k]];
                for (int j = 0; j < block.width; ++j) total -= row[j] * rest[block.columns[j]];
                own[k] = total;
            }
            upper_solve(&values_[block.A], block.size, own.data(), 1);
            for (int k = 0; k < block.size; ++k) x[block.effects[k]] = own[k];
        }
    }
}

// Fill N11 and N12 of a component whose N22 is known.
void FamilyElimination::invert_blocks(const Component& c) {
    const double* N22 = inverse_.data() + c.S;
    Vector W(values_.begin() + c.U, values_.begin() + c.S), own;
    std::fill(inverse_.begin() + c.U, inverse_.begin() + c.S, 0.0);
    for (std::size_t g = c.first; g < c.last; ++g)
        if (blocks_[g].width)
            upper_solve(&values_[blocks_[g].A], blocks_[g].size, &W[blocks_[g].U - c.U], blocks_[g].width);
    if (c.full && c.size)
        dense::add_product(-1.0, dense::view(W.data(), c.rows, c.size), dense::view(N22, c.size, c.size), &inverse_[c.U], c.size);
    for (std::size_t g = c.first; g < c.last; ++g) {
        const Block& block = blocks_[g];
        const int b = block.size, w = block.width;
        const double* weights = W.data() + (block.U - c.U);
        double* across = inverse_.data() + block.U;
        if (!c.full) rows::subtract_product(weights, b, w, block.columns.data(), N22, c.size, across);
        own.resize(static_cast<std::size_t>(b) * b);
        dense::inverse(&values_[block.A], b, own.data());
        for (int a = 0; a < b; ++a)
            for (int k = 0; k <= a; ++k) {
                const double value = own[static_cast<std::size_t>(a) * b + k] -
                                     dense::dot(across + static_cast<std::size_t>(a) * w, weights + static_cast<std::size_t>(k) * w, w);
                inverse_[block.A + static_cast<std::size_t>(a) * b + k] = inverse_[block.A + static_cast<std::size_t>(k) * b + a] = value;
            }
    }
}

void FamilyElimination::diagonal_inverse(BlockMatrix& N) {
    for (const Component& c : components_) {
        if (c.parents)
            c.parents->inverse(&inverse_[c.S], c.size);
        else if (c.size)
            dense::inverse(&values_[c.S], c.size, &inverse_[c.S]);
        invert_blocks(c);
    }
    for (std::size_t f = 0; f < own_.size(); ++f) {
        const int q = design_.factors[f].size;
        double* block = N.own[f].data();
        for (const Place& place : own_[f]) {
            for (int a = 0; a < q; ++a)
                for (int b = 0; b < q; ++b) block[a * q + b] = inverse_[place.at + static_cast<std::size_t>(a) * place.row + b];
            block += q * q;
        }
    }
}

// The blocks of different levels of the family as well: N12 = -W N22, N11 = A^-1 - N12 W'.
void FamilyElimination::dense_inverse(int component, const std::vector<int>& effects, double* out) const {
    const Component& c = components_[component];
    const std::size_t m = effects.size(), width = c.size;
    std::vector<int> place(design_.effects, -1), rest;
    for (std::size_t k = 0; k < m; ++k) place[effects[k]] = static_cast<int>(k);
    for (int effect : c.effects) rest.push_back(place[effect]);
    const double* N22 = &inverse_[c.S];
    for (std::size_t j = 0; j < width; ++j)
        for (std::size_t k = 0; k < width; ++k) out[rest[j] * m + rest[k]] = N22[j * width + k];
    Vector W, across, own;
    const auto weights = [&](const Block& block) {
        W.assign(values_.begin() + block.U, values_.begin() + block.U + static_cast<std::size_t>(block.size) * block.width);
        if (block.width) upper_solve(&values_[block.A], block.size, W.data(), block.width);
    };
    const std::size_t rows = c.rows;
    across.assign(width * rows, 0.0);  // N21, of which a row has all effects of the family
    Vector row(width), sum(rows);
    std::vector<std::size_t> to;  // their places
    for (std::size_t g = c.first; g < c.last; ++g) {
        const Block& block = blocks_[g];
        weights(block);
        for (int a = 0; a < block.size; ++a) {
            std::fill(row.begin(), row.end(), 0.0);
            for (int j = 0; j < block.width; ++j)
                subtract(W[static_cast<std::size_t>(a) * block.width + j], N22 + block.columns[j] * width, row.data(), width);
            for (std::size_t k = 0; k < width; ++k) across[k * rows + to.size()] = row[k];
            to.push_back(place[block.effects[a]]);
            for (std::size_t k = 0; k < width; ++k) out[to.back() * m + rest[k]] = row[k];
        }
    }
    std::size_t top = 0;
    for (std::size_t g = c.first; g < c.last; top += blocks_[g].size, ++g) {  // rows of N11 that belong to block g
        const Block& block = blocks_[g];
        weights(block);
        own.resize(static_cast<std::size_t>(block.size) * block.size);
        dense::inverse(&values_[block.A], block.size, own.data());
        for (int a = 0; a < block.size; ++a) {
            const std::size_t end = top + a + 1;
            std::fill(sum.begin(), sum.end(), 0.0);
            for (int b = 0; b <= a; ++b) sum[top + b] = own[static_cast<std::size_t>(a) * block.size + b];
            for (int j = 0; j < block.width; ++j)
                subtract(W[static_cast<std::size_t>(a) * block.width + j], &across[block.columns[j] * rows], sum.data(), end);
            for (std::size_t k = 0; k < end; ++k) out[to[top + a] * m + to[k]] = sum[k];
        }
    }
    std::vector<int> rank(m, 0);
    for (std::size_t k = 0; k < to.size(); ++k) rank[to[k]] = 1 + static_cast<int>(k);
    mirror(rank, out);
}

double FamilyElimination::dense_cost(int component, std::size_t) const {
    const Component& c = components_[component];
    double total = 0.0, rows = 0.0;
    for (std::size_t g = c.first; g < c.last; ++g) {
        const double size = blocks_[g].size;
        rows += size;
        total += size * blocks_[g].width * (rows + c.size);
    }
    return total;
}

double FamilyElimination::cost() const { return choice_.cost; }

void FamilyElimination::selected_inverse(BlockMatrix& N) {
    diagonal_inverse(N);
    for (std::size_t k = 0; k < cross_.size(); ++k) {
        const int p = design_.factors[design_.pairs[k].first].size, q = design_.factors[design_.pairs[k].second].size;
        double* block = N.cross[k].data();
        for (const Place& place : cross_[k]) {
            for (int a = 0; a < p; ++a)
                for (int b = 0; b < q; ++b)
                    block[a * q + b] = inverse_[place.at + static_cast<std::size_t>(a) * place.row + static_cast<std::size_t>(b) * place.column];
            block += p * q;
        }
    }
}

}  // namespace ordbridge
