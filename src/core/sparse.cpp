#include "sparse.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>

#include "dense.hpp"

namespace ordbridge {
namespace {

constexpr double NEARLY_FULL = 0.5;  // share of all others that are neighbours, from which the rest is kept as one matrix

// Overwrite U (q × width) with R^-1 U, R lower triangular.
void lower_solve(const Vector& R, int q, double* U, int width) {
    for (int a = 0; a < q; ++a) {
        double* row = U + static_cast<std::size_t>(a) * width;
        for (int k = 0; k < a; ++k) {
            const double factor = R[a * q + k], *other = U + static_cast<std::size_t>(k) * width;
            for (int b = 0; b < width; ++b) row[b] -= factor * other[b];
        }
        const double scale = 1.0 / R[a * q + a];
        for (int b = 0; b < width; ++b) row[b] *= scale;
    }
}

void upper_solve(const Vector& R, int q, double* U, int width) {
    for (int a = q - 1; a >= 0; --a) {
        double* row = U + static_cast<std::size_t>(a) * width;
        for (int k = a + 1; k < q; ++k) {
            const double factor = R[k * q + a], *other = U + static_cast<std::size_t>(k) * width;
            for (int b = 0; b < width; ++b) row[b] -= factor * other[b];
        }
        const double scale = 1.0 / R[a * q + a];
        for (int b = 0; b < width; ++b) row[b] *= scale;
    }
}

}  // namespace

SparseElimination::SparseElimination(const Design& design) : Elimination(design.effects), design_(design) {
    for (const Factor& factor : design.factors) {
        base_.push_back(static_cast<int>(nodes_.size()));
        for (int g = 0; g < factor.levels; ++g) {
            Node node;
            node.size = factor.size;
            node.effects = factor.offset + g * factor.size;
            nodes_.push_back(std::move(node));
        }
    }
    order(design);
    for (int v : order_) {
        Node& node = nodes_[v];
        node.column.push_back(0);
        for (int w : node.later) node.column.push_back(node.column.back() + nodes_[w].size);
        node.A.resize(node.size * node.size);
        node.N_own.resize(node.size * node.size);
        node.U.resize(static_cast<std::size_t>(node.size) * node.width());
        node.N_later.resize(node.U.size());
    }
    S_.resize(static_cast<std::size_t>(rest_size_) * rest_size_);
    N_rest_.resize(S_.size());
}

double SparseElimination::cost() const {
    double total = std::pow(rest_size_, 3);
    for (int v : order_) total += 3.0 * nodes_[v].size * std::pow(nodes_[v].width(), 2);
    return total;
}

// Find the order of elimination and, with it, which neighbours every node has when its turn comes.
void SparseElimination::order(const Design& design) {
    const int count = static_cast<int>(nodes_.size());
    std::vector<std::vector<int>> neighbours(count);
    for (const Pairs& pairs : design.pairs)
        for (int p = 0; p < pairs.count(); ++p) {
            const int v = base_[pairs.first] + pairs.level[p], w = base_[pairs.second] + pairs.partner[p];
            neighbours[v].push_back(w);
            neighbours[w].push_back(v);
        }
    using Waiting = std::pair<std::size_t, int>;  // degree and node; entries whose degree has changed are passed over
    std::priority_queue<Waiting, std::vector<Waiting>, std::greater<Waiting>> queue;
    for (int v = 0; v < count; ++v) {
        std::sort(neighbours[v].begin(), neighbours[v].end());
        queue.emplace(neighbours[v].size(), v);
    }
    std::vector<char> gone(count, 0);
    std::vector<int> joined;
    int left = count;
    while (left > 0) {
        const auto [degree, v] = queue.top();
        queue.pop();
        if (gone[v] || degree != neighbours[v].size()) continue;
        if (left > 1 && degree >= NEARLY_FULL * (left - 1)) break;
        gone[v] = 1;
        --left;
        nodes_[v].rank = static_cast<int>(order_.size());
        order_.push_back(v);
        for (int w : neighbours[v]) {  // all neighbours of v become neighbours of each other
            joined.clear();
            std::set_union(neighbours[w].begin(), neighbours[w].end(), neighbours[v].begin(), neighbours[v].end(),
                           std::back_inserter(joined));
            joined.erase(std::remove_if(joined.begin(), joined.end(), [&](int x) { return x == v || x == w; }),
                         joined.end());
            neighbours[w] = joined;
            queue.emplace(joined.size(), w);
        }
        nodes_[v].later = std::move(neighbours[v]);
        neighbours[v].clear();
    }
    for (int v = 0; v < count; ++v)
        if (!gone[v]) {
            nodes_[v].rank = static_cast<int>(order_.size() + rest_.size());
            nodes_[v].rest = rest_size_;
            rest_size_ += nodes_[v].size;
            rest_.push_back(v);
        }
    for (int v : order_)
        std::sort(nodes_[v].later.begin(), nodes_[v].later.end(),
                  [&](int a, int b) { return nodes_[a].rank < nodes_[b].rank; });
}

std::size_t SparseElimination::position(const Node& node, int other) const {
    const auto found = std::lower_bound(node.later.begin(), node.later.end(), nodes_[other].rank,
                                        [&](int w, int rank) { return nodes_[w].rank < rank; });
    return found - node.later.begin();
}

SparseElimination::Place SparseElimination::place(int first, int second, bool inverse) {
    const bool swapped = nodes_[first].rank > nodes_[second].rank;
    Node &one = nodes_[swapped ? second : first], &two = nodes_[swapped ? first : second];
    if (one.rest < 0) {
        Vector& values = inverse ? one.N_later : one.U;
        double* block = &values[one.column[position(one, swapped ? first : second)]];
        const std::size_t width = one.width();
        return swapped ? Place{block, 1, width} : Place{block, width, 1};
    }
    double* block = &(inverse ? N_rest_ : S_)[static_cast<std::size_t>(two.rest) * rest_size_ + one.rest];  // below the diagonal
    const std::size_t width = rest_size_;
    return swapped ? Place{block, width, 1} : Place{block, 1, width};
}

// Subtract what the elimination of a node leaves to its neighbours.
void SparseElimination::eliminate(Node& node) {
    const int q = node.size, width = node.width();
    const std::size_t degree = node.later.size();
    for (std::size_t i = 0; i < degree; ++i) {
        Node& one = nodes_[node.later[i]];
        const int p = one.size;
        const double* left = &node.U[node.column[i]];
        const auto subtract = [&](std::size_t j, double* block, std::size_t row_stride, std::size_t column_stride) {
            const double* right = &node.U[node.column[j]];
            const int r = node.column[j + 1] - node.column[j];
            for (int k = 0; k < q; ++k)
                for (int a = 0; a < p; ++a) {
                    const double factor = left[static_cast<std::size_t>(k) * width + a];
                    for (int b = 0; b < r; ++b)
                        block[a * row_stride + b * column_stride] -= factor * right[static_cast<std::size_t>(k) * width + b];
                }
        };
        if (one.rest < 0) {
            subtract(i, one.A.data(), p, 1);
            std::size_t at = 0;  // later neighbours of the node are among those of its neighbour, in the same order
            for (std::size_t j = i + 1; j < degree; ++j) {
                while (one.later[at] != node.later[j]) ++at;
                subtract(j, &one.U[one.column[at]], one.width(), 1);
            }
        } else {
            for (std::size_t j = 0; j <= i; ++j) {  // rows of S, up to the diagonal
                const Node& two = nodes_[node.later[j]];
                if (two.rest >= 0) subtract(j, &S_[static_cast<std::size_t>(one.rest) * rest_size_ + two.rest], rest_size_, 1);
            }
        }
    }
}

double SparseElimination::factorise(const BlockMatrix& M) {
    std::fill(S_.begin(), S_.end(), 0.0);
    for (std::size_t f = 0; f < design_.factors.size(); ++f) {
        const int q = design_.factors[f].size;
        for (int g = 0; g < design_.factors[f].levels; ++g) {
            Node& node = nodes_[base_[f] + g];
            const double* block = &M.own[f][static_cast<std::size_t>(g) * q * q];
            if (node.rest < 0) {
                std::copy_n(block, q * q, node.A.data());
                std::fill(node.U.begin(), node.U.end(), 0.0);
            }
            for (int a = 0; a < q; ++a) {
                if (node.rest < 0) {
                    node.A[a * q + a] += 1.0;
                    continue;
                }
                double* row = &S_[static_cast<std::size_t>(node.rest + a) * rest_size_ + node.rest];
                for (int b = 0; b < q; ++b) row[b] = block[a * q + b];
                row[a] += 1.0;
            }
        }
    }
    for (std::size_t k = 0; k < design_.pairs.size(); ++k) {
        const Pairs& pairs = design_.pairs[k];
        const int p = design_.factors[pairs.first].size, q = design_.factors[pairs.second].size;
        for (int pair = 0; pair < pairs.count(); ++pair) {
            const Place to = place(base_[pairs.first] + pairs.level[pair], base_[pairs.second] + pairs.partner[pair], false);
            const double* block = &M.cross[k][static_cast<std::size_t>(pair) * p * q];
            for (int a = 0; a < p; ++a)
                for (int b = 0; b < q; ++b) to.block[a * to.row_stride + b * to.column_stride] = block[a * q + b];
        }
    }
    double logdet = 0.0;
    for (int v : order_) {
        Node& node = nodes_[v];
        if (!dense::cholesky(node.A.data(), node.size, node.size)) return std::numeric_limits<double>::quiet_NaN();
        for (int a = 0; a < node.size; ++a) logdet += 2.0 * std::log(node.A[a * node.size + a]);
        lower_solve(node.A, node.size, node.U.data(), node.width());
        eliminate(node);
    }
    if (!dense::cholesky(S_.data(), rest_size_, rest_size_)) return std::numeric_limits<double>::quiet_NaN();
    for (int a = 0; a < rest_size_; ++a) logdet += 2.0 * std::log(S_[static_cast<std::size_t>(a) * rest_size_ + a]);
    return std::isfinite(logdet) ? logdet : std::numeric_limits<double>::quiet_NaN();
}

void SparseElimination::forward(Vector& x) const {
    for (int v : order_) {
        const Node& node = nodes_[v];
        double* own = &x[node.effects];
        lower_solve(node.A, node.size, own, 1);
        for (std::size_t j = 0; j < node.later.size(); ++j) {
            double* other = &x[nodes_[node.later[j]].effects];
            for (int k = 0; k < node.size; ++k)
                for (int b = node.column[j]; b < node.column[j + 1]; ++b)
                    other[b - node.column[j]] -= node.U[static_cast<std::size_t>(k) * node.width() + b] * own[k];
        }
    }
    Vector rest(rest_size_);
    for (int v : rest_) std::copy_n(&x[nodes_[v].effects], nodes_[v].size, &rest[nodes_[v].rest]);
    dense::solve_lower(S_.data(), rest_size_, rest.data());
    for (int v : rest_) std::copy_n(&rest[nodes_[v].rest], nodes_[v].size, &x[nodes_[v].effects]);
}

void SparseElimination::backward(Vector& x) const {
    Vector rest(rest_size_);
    for (int v : rest_) std::copy_n(&x[nodes_[v].effects], nodes_[v].size, &rest[nodes_[v].rest]);
    dense::solve_lower_transposed(S_.data(), rest_size_, rest.data());
    for (int v : rest_) std::copy_n(&rest[nodes_[v].rest], nodes_[v].size, &x[nodes_[v].effects]);
    for (auto v = order_.rbegin(); v != order_.rend(); ++v) {
        const Node& node = nodes_[*v];
        double* own = &x[node.effects];
        for (std::size_t j = 0; j < node.later.size(); ++j) {
            const double* other = &x[nodes_[node.later[j]].effects];
            for (int k = 0; k < node.size; ++k)
                for (int b = node.column[j]; b < node.column[j + 1]; ++b)
                    own[k] -= node.U[static_cast<std::size_t>(k) * node.width() + b] * other[b - node.column[j]];
        }
        upper_solve(node.A, node.size, own, 1);
    }
}

// Fill the blocks of the inverse of one node, when those of its later neighbours are known.
void SparseElimination::invert(Node& node) {
    const int q = node.size, width = node.width();
    const std::size_t degree = node.later.size();
    Vector W = node.U;
    upper_solve(node.A, q, W.data(), width);
    std::fill(node.N_later.begin(), node.N_later.end(), 0.0);
    // N_v,later[j] -= W_v,later[i] N_later[i],later[j], for every block N_ij that is kept, and its mirror image
    const auto add = [&](std::size_t i, std::size_t j, const double* block, std::size_t row_stride, std::size_t column_stride) {
        const int p = node.column[i + 1] - node.column[i], r = node.column[j + 1] - node.column[j];
        for (int k = 0; k < q; ++k) {
            const double* w = &W[static_cast<std::size_t>(k) * width + node.column[i]];
            double* out = &node.N_later[static_cast<std::size_t>(k) * width + node.column[j]];
            for (int a = 0; a < p; ++a)
                for (int b = 0; b < r; ++b) out[b] -= w[a] * block[a * row_stride + b * column_stride];
        }
    };
    for (std::size_t i = 0; i < degree; ++i) {
        const Node& one = nodes_[node.later[i]];
        if (one.rest < 0) {
            add(i, i, one.N_own.data(), one.size, 1);
            std::size_t at = 0;
            for (std::size_t j = i + 1; j < degree; ++j) {
                while (one.later[at] != node.later[j]) ++at;
                const double* block = &one.N_later[one.column[at]];
                add(i, j, block, one.width(), 1);
                add(j, i, block, 1, one.width());
            }
        } else {
            for (std::size_t j = 0; j < degree; ++j) {
                const Node& two = nodes_[node.later[j]];
                if (two.rest >= 0) add(i, j, &N_rest_[static_cast<std::size_t>(one.rest) * rest_size_ + two.rest], rest_size_, 1);
            }
        }
    }
    dense::inverse(node.A.data(), q, node.N_own.data());
    for (int a = 0; a < q; ++a)
        for (int b = 0; b < q; ++b)
            node.N_own[a * q + b] -= dense::dot(node.N_later.data() + static_cast<std::size_t>(a) * width,
                                                W.data() + static_cast<std::size_t>(b) * width, width);
}

void SparseElimination::selected_inverse(BlockMatrix& N) {
    if (rest_size_) dense::inverse(S_.data(), rest_size_, N_rest_.data());
    for (auto v = order_.rbegin(); v != order_.rend(); ++v) invert(nodes_[*v]);
    for (std::size_t f = 0; f < design_.factors.size(); ++f) {
        const int q = design_.factors[f].size;
        for (int g = 0; g < design_.factors[f].levels; ++g) {
            const Node& node = nodes_[base_[f] + g];
            double* block = &N.own[f][static_cast<std::size_t>(g) * q * q];
            for (int a = 0; a < q; ++a)
                for (int b = 0; b < q; ++b)
                    block[a * q + b] = node.rest < 0 ? 0.5 * (node.N_own[a * q + b] + node.N_own[b * q + a])
                                                     : N_rest_[static_cast<std::size_t>(node.rest + a) * rest_size_ + node.rest + b];
        }
    }
    for (std::size_t k = 0; k < design_.pairs.size(); ++k) {
        const Pairs& pairs = design_.pairs[k];
        const int p = design_.factors[pairs.first].size, q = design_.factors[pairs.second].size;
        for (int pair = 0; pair < pairs.count(); ++pair) {
            const Place from = place(base_[pairs.first] + pairs.level[pair], base_[pairs.second] + pairs.partner[pair], true);
            double* block = &N.cross[k][static_cast<std::size_t>(pair) * p * q];
            for (int a = 0; a < p; ++a)
                for (int b = 0; b < q; ++b) block[a * q + b] = from.block[a * from.row_stride + b * from.column_stride];
        }
    }
}

}  // namespace ordbridge
