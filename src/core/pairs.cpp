#include "pairs.hpp"

#include <cmath>
#include <limits>

namespace ordbridge {

namespace {

// The sums that a product-moment correlation is made of.
struct Sums {
    double n = 0, x = 0, y = 0, xy = 0, xx = 0, yy = 0;

    void add(double times, double a, double b) {
        n += times;
        x += times * a;
        y += times * b;
        xy += times * a * b;
        xx += times * a * a;
        yy += times * b * b;
    }

    double correlation() const {
        const double none = std::numeric_limits<double>::quiet_NaN();
        if (n < 2) return none;
        const double var_x = xx - x * x / n, var_y = yy - y * y / n;
        if (var_x <= 1e-9 || var_y <= 1e-9) return none;
        return (xy - x * y / n) / std::sqrt(var_x * var_y);
    }
};

// How much a rating adds to the mean rank of another: all when it is below, half when they are tied.
double below(std::int64_t one, std::int64_t other) { return one < other ? 1.0 : one == other ? 0.5 : 0.0; }

}  // namespace

PairAgreement pair_agreement(const Cells& c, const std::vector<double>& w, std::int64_t q) {
    const std::size_t pairs = c.start.size() - 1, cells = c.x.size();
    PairAgreement found{std::vector<double>(pairs), std::vector<double>(pairs), std::vector<double>(cells),
                        std::vector<double>(cells)};
    auto weight = [&](std::int64_t i, std::int64_t j) { return w[c.x[i] * q + c.y[j]]; };
    for (std::size_t p = 0; p < pairs; ++p) {
        for (std::int64_t i = c.start[p]; i < c.start[p + 1]; ++i) {
            found.observed[p] += c.count[i] * weight(i, i);
            for (std::int64_t j = c.start[p]; j < c.start[p + 1]; ++j) {
                found.expected[p] += c.count[i] * c.count[j] * weight(i, j);
                found.expected_left[i] -= c.count[j] * (weight(i, j) + weight(j, i));
            }
        }
        for (std::int64_t i = c.start[p]; i < c.start[p + 1]; ++i) {
            found.observed_left[i] = found.observed[p] - weight(i, i);
            found.expected_left[i] += found.expected[p] + weight(i, i);
        }
    }
    return found;
}

Comparisons pair_comparisons(const Cells& c) {
    const std::size_t cells = c.x.size();
    Comparisons found{std::vector<double>(cells), std::vector<double>(cells), std::vector<double>(cells),
                      std::vector<double>(cells)};
    for (std::size_t p = 0; p + 1 < c.start.size(); ++p) {
        for (std::int64_t i = c.start[p]; i < c.start[p + 1]; ++i) {
            for (std::int64_t j = c.start[p]; j < c.start[p + 1]; ++j) {
                const double others = c.count[j] - (i == j ? 1.0 : 0.0);
                if (c.x[i] == c.x[j]) found.tied_first[i] += others;
                if (c.y[i] == c.y[j]) found.tied_second[i] += others;
                if (c.x[i] == c.x[j] || c.y[i] == c.y[j]) continue;
                ((c.x[i] < c.x[j]) == (c.y[i] < c.y[j]) ? found.concordant : found.discordant)[i] += others;
            }
        }
    }
    return found;
}

Correlations pair_spearman(const Cells& c) {
    Correlations found{std::vector<double>(c.start.size() - 1), std::vector<double>(c.x.size())};
    std::vector<double> rank_x, rank_y;
    for (std::size_t p = 0; p + 1 < c.start.size(); ++p) {
        const std::int64_t low = c.start[p], high = c.start[p + 1];
        rank_x.assign(high - low, 0.0);
        rank_y.assign(high - low, 0.0);
        Sums whole;
        for (std::int64_t k = low; k < high; ++k) {
            for (std::int64_t j = low; j < high; ++j) {
                rank_x[k - low] += c.count[j] * below(c.x[j], c.x[k]);
                rank_y[k - low] += c.count[j] * below(c.y[j], c.y[k]);
            }
            whole.add(c.count[k], rank_x[k - low], rank_y[k - low]);
        }
        found.whole[p] = whole.correlation();
        for (std::int64_t i = low; i < high; ++i) {  // without one item of cell i
            Sums left;
            for (std::int64_t k = low; k < high; ++k) {
                left.add(c.count[k] - (k == i ? 1.0 : 0.0), rank_x[k - low] - below(c.x[i], c.x[k]),
                         rank_y[k - low] - below(c.y[i], c.y[k]));
            }
            found.left[i] = left.correlation();
        }
    }
    return found;
}

Correlations pair_pearson(const Cells& c, const std::vector<double>& points) {
    Correlations found{std::vector<double>(c.start.size() - 1), std::vector<double>(c.x.size())};
    for (std::size_t p = 0; p + 1 < c.start.size(); ++p) {
        Sums whole;
        for (std::int64_t k = c.start[p]; k < c.start[p + 1]; ++k) whole.add(c.count[k], points[c.x[k]], points[c.y[k]]);
        found.whole[p] = whole.correlation();
        for (std::int64_t k = c.start[p]; k < c.start[p + 1]; ++k) {
            Sums left = whole;
            left.add(-1.0, points[c.x[k]], points[c.y[k]]);
            found.left[k] = left.correlation();
        }
    }
    return found;
}

}  // namespace ordbridge
