#include "design.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

#include "sizes.hpp"

namespace ordbridge {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw std::invalid_argument(why); }

Factor make_factor(const std::vector<std::int64_t>& level, const Vector& z, int size,
                   const std::vector<std::int64_t>& component, int n, int offset) {
    if (size < 1) refuse("a grouping factor has no random effects");
    if (static_cast<int>(level.size()) != n) refuse("grouping factors have different numbers of rows");
    if (z.size() != static_cast<std::size_t>(n) * size) refuse("the columns of a grouping factor do not have its rows");
    for (double value : z)
        if (!std::isfinite(value)) refuse("a column of random effects is not finite");
    if (component.size() < 2 || component.front() != 0 || component.back() > n ||
        !std::is_sorted(component.begin(), component.end()))
        refuse("the components of a grouping factor do not begin one after the other");
    Factor factor;
    factor.levels = static_cast<int>(component.back());
    factor.size = size;
    factor.offset = offset;
    factor.z = z;
    factor.level.reserve(n);
    for (std::int64_t value : level) {
        if (value < 0 || value >= factor.levels) refuse("a level is outside its grouping factor");
        factor.level.push_back(static_cast<int>(value));
    }
    std::vector<char> used(factor.levels, 0);
    for (int g : factor.level) used[g] = 1;
    if (std::find(used.begin(), used.end(), 0) != used.end()) refuse("a level of a grouping factor has no row");
    factor.component.assign(component.begin(), component.end());
    return factor;
}

Pairs make_pairs(const Design& design, int first, int second) {
    const Factor &a = design.factors[first], &b = design.factors[second];
    std::vector<std::int64_t> key(design.n);
    for (int i = 0; i < design.n; ++i) key[i] = static_cast<std::int64_t>(a.level[i]) * b.levels + b.level[i];
    std::vector<std::int64_t> unique = key;
    std::sort(unique.begin(), unique.end());
    unique.erase(std::unique(unique.begin(), unique.end()), unique.end());
    Pairs pairs;
    pairs.first = first;
    pairs.second = second;
    pairs.begin.assign(a.levels + 1, 0);
    for (std::int64_t k : unique) {
        pairs.level.push_back(static_cast<int>(k / b.levels));
        pairs.partner.push_back(static_cast<int>(k % b.levels));
        ++pairs.begin[k / b.levels + 1];
    }
    std::partial_sum(pairs.begin.begin(), pairs.begin.end(), pairs.begin.begin());
    for (int i = 0; i < design.n; ++i)
        pairs.of_row.push_back(
            static_cast<int>(std::lower_bound(unique.begin(), unique.end(), key[i]) - unique.begin()));
    return pairs;
}

int component_of(const Factor& factor, int level) {
    const auto& begin = factor.component;
    return static_cast<int>(std::upper_bound(begin.begin(), begin.end() - 1, level) - begin.begin()) - 1;
}

}  // namespace

Design make_design(const std::vector<std::vector<std::int64_t>>& level, const std::vector<Vector>& z,
                   const std::vector<int>& size, const std::vector<std::vector<std::int64_t>>& component) {
    if (level.empty()) refuse("there is no grouping factor");
    if (z.size() != level.size() || size.size() != level.size() || component.size() != level.size())
        refuse("levels, columns and components are not given for the same grouping factors");
    if (level[0].empty() || level[0].size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
        refuse("there is no row, or too many");
    Design design;
    design.n = static_cast<int>(level[0].size());
    std::int64_t effects = 0;
    for (std::size_t f = 0; f < level.size(); ++f) {
        design.factors.push_back(
            make_factor(level[f], z[f], size[f], component[f], design.n, static_cast<int>(effects)));
        effects += static_cast<std::int64_t>(design.factors.back().levels) * size[f];
        if (effects > std::numeric_limits<int>::max()) refuse("there are too many random effects");
        if (component[f].size() != component[0].size()) refuse("grouping factors have different numbers of components");
    }
    design.effects = static_cast<int>(effects);
    for (int i = 0; i < design.n; ++i)
        for (const Factor& factor : design.factors)
            if (component_of(factor, factor.level[i]) != component_of(design.factors[0], design.factors[0].level[i]))
                refuse("a row joins levels of different components");
    for (int second = 1; second < static_cast<int>(level.size()); ++second)
        for (int first = 0; first < second; ++first) design.pairs.push_back(make_pairs(design, first, second));
    return design;
}

std::vector<std::int64_t> components_of_rows(const std::vector<std::vector<std::int64_t>>& level) {
    if (level.empty()) refuse("there is no grouping factor");
    std::vector<std::int64_t> offset, parent;
    std::int64_t levels = 0;
    for (const auto& factor : level) {
        if (factor.size() != level[0].size()) refuse("grouping factors have different numbers of rows");
        offset.push_back(levels);
        for (std::int64_t value : factor)
            if (value < 0 || value >= static_cast<std::int64_t>(factor.size())) refuse("a level is outside its grouping factor");
        levels += factor.empty() ? 0 : 1 + *std::max_element(factor.begin(), factor.end());
    }
    parent.resize(levels);
    std::iota(parent.begin(), parent.end(), 0);
    const auto root = [&](std::int64_t x) {
        while (parent[x] != x) x = parent[x] = parent[parent[x]];
        return x;
    };
    const std::size_t n = level[0].size();
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t f = 1; f < level.size(); ++f) parent[root(offset[f] + level[f][i])] = root(level[0][i]);
    std::vector<std::int64_t> number(levels, -1), found(n);
    std::int64_t next = 0;
    for (std::size_t i = 0; i < n; ++i) {
        std::int64_t& own = number[root(level[0][i])];
        if (own < 0) own = next++;
        found[i] = own;
    }
    return found;
}

BlockMatrix::BlockMatrix(const Design& design) {
    for (const Factor& f : design.factors) own.emplace_back(static_cast<std::size_t>(f.levels) * f.size * f.size);
    for (const Pairs& p : design.pairs)
        cross.emplace_back(static_cast<std::size_t>(p.count()) * design.factors[p.first].size *
                           design.factors[p.second].size);
}

void cross_products(const Design& design, const std::vector<const double*>& z, const double* d, BlockMatrix& M) {
    for (std::size_t f = 0; f < design.factors.size(); ++f) {
        const Factor& factor = design.factors[f];
        std::fill(M.own[f].begin(), M.own[f].end(), 0.0);
        with_size(factor.size, [&](auto q) {
            for (int i = 0; i < design.n; ++i) {
                const double* row = z[f] + static_cast<std::size_t>(i) * q;
                double* block = &M.own[f][static_cast<std::size_t>(factor.level[i]) * q * q];
                const double weight = d ? d[i] : 1.0;
                for (int a = 0; a < q; ++a)
                    for (int b = 0; b <= a; ++b) block[a * q + b] += weight * row[a] * row[b];
            }
            for (int g = 0; g < factor.levels; ++g) {
                double* block = &M.own[f][static_cast<std::size_t>(g) * q * q];
                for (int a = 0; a < q; ++a)
                    for (int b = 0; b < a; ++b) block[b * q + a] = block[a * q + b];
            }
        });
    }
    for (std::size_t k = 0; k < design.pairs.size(); ++k) {
        const Pairs& pairs = design.pairs[k];
        std::fill(M.cross[k].begin(), M.cross[k].end(), 0.0);
        with_sizes(design.factors[pairs.first].size, design.factors[pairs.second].size, [&](auto p, auto q) {
            for (int i = 0; i < design.n; ++i) {
                const double* left = z[pairs.first] + static_cast<std::size_t>(i) * p;
                const double* right = z[pairs.second] + static_cast<std::size_t>(i) * q;
                double* block = &M.cross[k][static_cast<std::size_t>(pairs.of_row[i]) * p * q];
                const double weight = d ? d[i] : 1.0;
                for (int a = 0; a < p; ++a)
                    for (int b = 0; b < q; ++b) block[a * q + b] += weight * left[a] * right[b];
            }
        });
    }
}

void multiply(const Design& design, const BlockMatrix& M, const Vector& x, Vector& out) {
    for (std::size_t f = 0; f < design.factors.size(); ++f) {
        const Factor& factor = design.factors[f];
        const int q = factor.size;
        for (int g = 0; g < factor.levels; ++g) {
            const double *block = &M.own[f][static_cast<std::size_t>(g) * q * q], *from = factor.of(x, g);
            double* to = factor.of(out, g);
            for (int a = 0; a < q; ++a) {
                to[a] = 0.0;
                for (int b = 0; b < q; ++b) to[a] += block[a * q + b] * from[b];
            }
        }
    }
    for (std::size_t k = 0; k < design.pairs.size(); ++k) {
        const Pairs& pairs = design.pairs[k];
        const Factor &first = design.factors[pairs.first], &second = design.factors[pairs.second];
        with_sizes(first.size, second.size, [&](auto p, auto q) {
            for (int pair = 0; pair < pairs.count(); ++pair) {
                const double* block = &M.cross[k][static_cast<std::size_t>(pair) * p * q];
                const double *x1 = first.of(x, pairs.level[pair]), *x2 = second.of(x, pairs.partner[pair]);
                double *to1 = first.of(out, pairs.level[pair]), *to2 = second.of(out, pairs.partner[pair]);
                for (int a = 0; a < p; ++a)
                    for (int b = 0; b < q; ++b) {
                        to1[a] += block[a * q + b] * x2[b];
                        to2[b] += block[a * q + b] * x1[a];
                    }
            }
        });
    }
}

void add_row_sums(const Design& design, const std::vector<const double*>& z, const double* weights, Vector& out) {
    for (std::size_t f = 0; f < design.factors.size(); ++f) {
        const Factor& factor = design.factors[f];
        with_size(factor.size, [&](auto q) {
            for (int i = 0; i < design.n; ++i) {
                double* sum = factor.of(out, factor.level[i]);
                const double* row = z[f] + static_cast<std::size_t>(i) * q;
                for (int a = 0; a < q; ++a) sum[a] += weights[i] * row[a];
            }
        });
    }
}

void add_row_products(const Design& design, const std::vector<const double*>& z, const Vector& u, double* eta) {
    for (std::size_t f = 0; f < design.factors.size(); ++f) {
        const Factor& factor = design.factors[f];
        with_size(factor.size, [&](auto q) {
            for (int i = 0; i < design.n; ++i) {
                const double *effects = factor.of(u, factor.level[i]), *row = z[f] + static_cast<std::size_t>(i) * q;
                double total = 0.0;
                for (int a = 0; a < q; ++a) total += row[a] * effects[a];
                eta[i] += total;
            }
        });
    }
}

Cholesky new_cholesky(const Design& design) {
    Cholesky L;
    for (const Factor& factor : design.factors) L.emplace_back(factor.size * factor.size);
    return L;
}

void set_entries(const Design& design, const std::vector<Entry>& entries, const double* values, Cholesky& L) {
    for (Vector& own : L) std::fill(own.begin(), own.end(), 0.0);
    for (std::size_t k = 0; k < entries.size(); ++k)
        L[entries[k].factor][entries[k].row * design.factors[entries[k].factor].size + entries[k].column] = values[k];
}

std::vector<Entry> make_entries(const Design& design, const std::vector<std::int64_t>& factor,
                                const std::vector<std::int64_t>& row, const std::vector<std::int64_t>& column) {
    if (factor.size() != row.size() || factor.size() != column.size()) refuse("entries lack a factor, row or column");
    std::vector<Entry> entries;
    for (std::size_t k = 0; k < factor.size(); ++k) {
        const bool known = factor[k] >= 0 && factor[k] < static_cast<std::int64_t>(design.factors.size());
        if (!known || column[k] < 0 || row[k] < column[k] || row[k] >= design.factors[factor[k]].size)
            refuse("an entry is outside the lower triangle of its Cholesky factor");
        entries.push_back({static_cast<int>(factor[k]), static_cast<int>(row[k]), static_cast<int>(column[k])});
    }
    return entries;
}

void transposed_times(const double* L, int size, const double* x, std::size_t count, double* out) {
    with_size(size, [&](auto q) {
        for (std::size_t i = 0; i < count; ++i)
            for (int a = 0; a < q; ++a) {
                double total = 0.0;
                for (int k = a; k < q; ++k) total += L[k * q + a] * x[i * q + k];
                out[i * q + a] = total;
            }
    });
}

}  // namespace ordbridge
