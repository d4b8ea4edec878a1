#include "parents.hpp"

#include <algorithm>
#include <cmath>

#include "dense.hpp"
#include "simd.hpp"

namespace ordbridge {
namespace {

// out_j = x_j - g p_j - table[of_j] for the first `count` of those kept; x and p are rows of larger matrices
ORDBRIDGE_CLONES void reduce_row(const double* x, const double* p, double g, const double* table, const int* of, const int* kept,
                                 int count, double* out) {
    for (int j = 0; j < count; ++j) out[j] = x[kept[j]] - g * p[kept[j]] - table[of[j]];
}

ORDBRIDGE_CLONES void expand_row(const double* x, const double* y, double g, const double* table, const int* of, const int* kept,
                                 int count, double* out) {
    for (int j = 0; j < count; ++j) out[kept[j]] = x[j] - g * y[j] - table[of[j]];
}

}  // namespace

Parents::Parents(const std::vector<int>& parent) {
    const int m = static_cast<int>(parent.size());
    std::vector<int> number(m, -1);
    for (int place : parent)
        if (place >= 0) number[place] = 0;
    for (int place = 0; place < m; ++place) {
        if (number[place] < 0) continue;
        number[place] = static_cast<int>(parents_.size());
        parents_.push_back(place);
    }
    children_.resize(parents_.size());
    for (int place = 0; place < m; ++place) {
        if (number[place] >= 0) continue;
        const int own = parent[place] < 0 ? static_cast<int>(parents_.size()) : number[parent[place]];
        if (parent[place] >= 0) children_[own].push_back(kept());
        of_.push_back(own);
        kept_.push_back(place);
    }
    for (Vector* each : {&own_, &child_, &g_}) each->assign(parents_.size() + 1, 0.0);
    R_.resize(kept_.size() * kept_.size());
}

void Parents::set(double a, double c) {
    for (std::size_t p = 0; p < parents_.size(); ++p) {
        const double length = std::sqrt(c * c + static_cast<double>(children_[p].size()) * a * a);
        const double first = length > 0.0 ? std::abs(c) / length : 1.0;
        own_[p] = 1.0 + first;
        child_[p] = length > 0.0 ? (c < 0.0 ? a : -a) / length : 0.0;
        g_[p] = child_[p] / own_[p];
    }
}

bool Parents::factorise(const double* S, int m, double& logdet) {
    const std::size_t parents = parents_.size();
    const int count = kept();
    // rows of S in the places of parents, whole
    Vector rows((parents + 1) * m, 0.0), table(parents + 1, 0.0);
    for (std::size_t p = 0; p < parents; ++p)
        for (int j = 0; j < m; ++j)
            rows[p * m + j] = S[static_cast<std::size_t>(std::max(parents_[p], j)) * m + std::min(parents_[p], j)];
    for (int i = 0; i < count; ++i) {
        const int own = of_[i];
        const double g = g_[own], *mine = &rows[static_cast<std::size_t>(own) * m];
        for (std::size_t p = 0; p < parents; ++p) table[p] = g_[p] * (rows[p * m + kept_[i]] - g * mine[parents_[p]]);
        if (own < static_cast<int>(parents)) table[own] += g * g;
        reduce_row(S + static_cast<std::size_t>(kept_[i]) * m, mine, g, table.data(), of_.data(), kept_.data(), i + 1,
                   &R_[static_cast<std::size_t>(i) * count]);
    }
    if (!dense::cholesky(R_.data(), count, count)) return false;
    double product = 1.0;
    for (int i = 0; i < count; ++i) {
        product *= R_[static_cast<std::size_t>(i) * (count + 1)];
        if (!(product < 1e200) || product < 1e-200) {
            logdet += 2.0 * std::log(product);
            product = 1.0;
        }
    }
    logdet += 2.0 * std::log(product);
    return true;
}

void Parents::reflect(Vector& x) const {
    for (std::size_t p = 0; p < parents_.size(); ++p) {
        double total = own_[p] * x[parents_[p]];
        for (int k : children_[p]) total += child_[p] * x[kept_[k]];
        x[parents_[p]] -= total;  // b w = 1 there
        for (int k : children_[p]) x[kept_[k]] -= g_[p] * total;
    }
}

void Parents::solve(Vector& x, bool transposed) const {
    Vector inner(kept_.size());
    if (!transposed) reflect(x);
    for (std::size_t k = 0; k < inner.size(); ++k) inner[k] = x[kept_[k]];
    (transposed ? dense::solve_lower_transposed : dense::solve_lower)(R_.data(), kept(), inner.data());
    for (std::size_t k = 0; k < inner.size(); ++k) x[kept_[k]] = inner[k];
    if (transposed) reflect(x);
}

void Parents::inverse(double* N, int m) const {
    const int count = kept();
    const std::size_t parents = parents_.size();
    static thread_local std::vector<double> D;
    if (D.size() < R_.size()) D.resize(R_.size());
    dense::inverse(R_.data(), count, D.data());
    // y_p of those kept, and W
    Vector y((parents + 1) * count, 0.0), W((parents + 1) * (parents + 1), 0.0), table(parents + 1, 0.0);
    for (std::size_t p = 0; p < parents; ++p)
        for (int k : children_[p])
            for (int j = 0; j < count; ++j) y[p * count + j] += child_[p] * D[static_cast<std::size_t>(k) * count + j];
    for (std::size_t p = 0; p < parents; ++p) {
        for (std::size_t q = 0; q < parents; ++q)
            for (int k : children_[q]) W[p * (parents + 1) + q] += child_[q] * y[p * count + k];
        W[p * (parents + 1) + p] += own_[p] * own_[p];
    }
    for (int i = 0; i < count; ++i) {
        const std::size_t own = of_[i];
        for (std::size_t p = 0; p < parents; ++p) table[p] = g_[p] * (y[p * count + i] - g_[own] * W[own * (parents + 1) + p]);
        expand_row(&D[static_cast<std::size_t>(i) * count], &y[own * count], g_[own], table.data(), of_.data(), kept_.data(), count,
                   N + static_cast<std::size_t>(kept_[i]) * m);
    }
    for (std::size_t p = 0; p < parents; ++p) {
        double* row = N + static_cast<std::size_t>(parents_[p]) * m;
        for (int j = 0; j < count; ++j) {
            const std::size_t other = of_[j];
            const double value = g_[other] * W[p * (parents + 1) + other] - y[p * count + j] - (other == p ? child_[p] : 0.0);
            row[kept_[j]] = N[static_cast<std::size_t>(kept_[j]) * m + parents_[p]] = value;
        }
        for (std::size_t q = 0; q < parents; ++q)
            row[parents_[q]] = W[p * (parents + 1) + q] + (p == q ? 1.0 - 2.0 * own_[p] : 0.0);
    }
}

}  // namespace ordbridge
