#include "tied.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "dense.hpp"

namespace ordbridge {

namespace {

double log_diagonal(const double* L, std::int64_t m) {
    double sum = 0.0;
    for (std::int64_t k = 0; k < m; ++k) sum += std::log(L[k * m + k]);
    return sum;
}

// Overwrite B (m × t) with L⁻¹ B.
void solve_rows(const double* L, std::int64_t m, double* B, std::int64_t t) {
    for (std::int64_t i = 0; i < m; ++i) {
        double* row = B + i * t;
        for (std::int64_t k = 0; k < i; ++k) {
            const double l = L[i * m + k];
            if (l == 0.0) continue;
            const double* other = B + k * t;
            for (std::int64_t j = 0; j < t; ++j) row[j] -= l * other[j];
        }
        const double d = 1.0 / L[i * m + i];
        for (std::int64_t j = 0; j < t; ++j) row[j] *= d;
    }
}

}  // namespace

TiedSolver::TiedSolver(TiedRows rows) : data_(std::move(rows)) {
    const std::int64_t n = this->rows(), q = data_.width;
    if (data_.own < 0 || data_.rest < 0 || data_.random_rest < 0 || data_.random_rest > data_.rest || q < 0)
        throw std::invalid_argument("the numbers of columns do not fit");
    if (static_cast<std::int64_t>(data_.plus.size()) != n || static_cast<std::int64_t>(data_.minus.size()) != n ||
        static_cast<std::int64_t>(data_.rest_column.size()) != n * q ||
        static_cast<std::int64_t>(data_.rest_value.size()) != n * q)
        throw std::invalid_argument("the columns have different numbers of rows");
    for (std::int64_t k = 0; k < n * q; ++k)
        if (data_.rest_column[k] < -1 || data_.rest_column[k] >= data_.rest)
            throw std::invalid_argument("there is no such column in the rest");
    local_.assign(n * q, -1);
    for (std::int64_t begin = 0; begin < n;) {
        std::int64_t end = begin;
        std::int64_t low = std::numeric_limits<std::int64_t>::max(), high = -1;
        Block block{begin, begin, 0, 0, {}};
        for (; end < n && data_.block[end] == data_.block[begin]; ++end) {
            for (const std::int64_t column : {data_.plus[end], data_.minus[end]}) {
                if (column < -1 || column >= data_.own) throw std::invalid_argument("there is no such column");
                if (column >= 0) low = std::min(low, column), high = std::max(high, column);
            }
            for (std::int64_t k = 0; k < q; ++k)
                if (data_.rest_column[end * q + k] >= 0) block.touched.push_back(data_.rest_column[end * q + k]);
        }
        if (end < n && data_.block[end] < data_.block[begin]) throw std::invalid_argument("rows must be sorted by block");
        block.end = end;
        if (high >= 0) block.first = low, block.size = high - low + 1;
        std::sort(block.touched.begin(), block.touched.end());
        block.touched.erase(std::unique(block.touched.begin(), block.touched.end()), block.touched.end());
        for (std::int64_t k = begin * q; k < end * q; ++k)
            if (data_.rest_column[k] >= 0)
                local_[k] = std::lower_bound(block.touched.begin(), block.touched.end(), data_.rest_column[k]) -
                            block.touched.begin();
        if (!blocks_.empty() && block.size && block.first < blocks_.back().first + blocks_.back().size)
            throw std::invalid_argument("blocks share columns");
        blocks_.push_back(std::move(block));
        begin = end;
    }
    lower_.resize(blocks_.size());
    gain_.resize(blocks_.size());
}

double TiedSolver::scaled(std::int64_t row, std::int64_t k) const {
    const std::int64_t at = row * data_.width + k;
    return data_.rest_value[at] * (data_.rest_column[at] < data_.random_rest ? rest_scale_ : 1.0);
}

std::vector<double> TiedSolver::predictor(const double* x, double own_scale, double rest_scale) const {
    const std::int64_t n = rows(), q = data_.width;
    std::vector<double> out(n, 0.0);
    const double* rest = x + data_.own;
    for (std::int64_t i = 0; i < n; ++i) {
        double sum = 0.0;
        if (data_.plus[i] >= 0) sum += own_scale * (x[data_.plus[i]] - x[data_.minus[i]]);
        for (std::int64_t k = i * q; k < (i + 1) * q; ++k) {
            const std::int64_t column = data_.rest_column[k];
            if (column >= 0) sum += data_.rest_value[k] * (column < data_.random_rest ? rest_scale : 1.0) * rest[column];
        }
        out[i] = sum;
    }
    return out;
}

std::vector<double> TiedSolver::pulled(const double* r, double own_scale, double rest_scale) const {
    const std::int64_t n = rows(), q = data_.width;
    std::vector<double> out(data_.own + data_.rest, 0.0);
    double* rest = out.data() + data_.own;
    for (std::int64_t i = 0; i < n; ++i) {
        if (data_.plus[i] >= 0) {
            out[data_.plus[i]] += own_scale * r[i];
            out[data_.minus[i]] -= own_scale * r[i];
        }
        for (std::int64_t k = i * q; k < (i + 1) * q; ++k) {
            const std::int64_t column = data_.rest_column[k];
            if (column >= 0) rest[column] += data_.rest_value[k] * (column < data_.random_rest ? rest_scale : 1.0) * r[i];
        }
    }
    return out;
}

double TiedSolver::factor(const double* weight, double own_scale, double rest_scale) {
    own_scale_ = own_scale;
    rest_scale_ = rest_scale;
    const std::int64_t q = data_.width, p = data_.rest;
    const double nan = std::numeric_limits<double>::quiet_NaN();
    double logs = 0.0;
    L_.assign(p * p, 0.0);
    for (std::int64_t k = 0; k < data_.random_rest; ++k) L_[k * p + k] = 1.0;
    std::vector<double> inside;
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
        const Block& block = blocks_[b];
        const std::int64_t m = block.size, t = static_cast<std::int64_t>(block.touched.size());
        std::vector<double>&A = lower_[b], &B = gain_[b];
        A.assign(m * m, 0.0);
        B.assign(m * t, 0.0);
        inside.assign(t * t, 0.0);
        for (std::int64_t k = 0; k < m; ++k) A[k * m + k] = 1.0;
        for (std::int64_t i = block.begin; i < block.end; ++i) {
            const double w = weight[i];
            const std::int64_t* at = &local_[i * q];
            for (std::int64_t k = 0; k < q; ++k) {
                if (at[k] < 0) continue;
                const double wz = w * scaled(i, k);
                for (std::int64_t j = 0; j < q; ++j)
                    if (at[j] >= 0) inside[at[k] * t + at[j]] += wz * scaled(i, j);
            }
            if (data_.plus[i] < 0) continue;
            const std::int64_t u = data_.plus[i] - block.first, v = data_.minus[i] - block.first;
            const double s = w * own_scale * own_scale;
            A[u * m + u] += s;
            A[v * m + v] += s;
            A[u * m + v] -= s;
            A[v * m + u] -= s;
            for (std::int64_t k = 0; k < q; ++k) {
                if (at[k] < 0) continue;
                const double c = w * own_scale * scaled(i, k);
                B[u * t + at[k]] += c;
                B[v * t + at[k]] -= c;
            }
        }
        if (m) {
            if (!dense::cholesky(A.data(), m, m)) return nan;
            logs += log_diagonal(A.data(), m);
            solve_rows(A.data(), m, B.data(), t);
            if (t) {
                const dense::View half = dense::view(B.data(), m, t);
                dense::add_product(-1.0, half.transposed(), half, inside.data(), t);
            }
        }
        for (std::int64_t k = 0; k < t; ++k)
            for (std::int64_t j = 0; j < t; ++j) L_[block.touched[k] * p + block.touched[j]] += inside[k * t + j];
    }
    if (p) {
        if (!dense::cholesky(L_.data(), p, p)) return nan;
        logs += log_diagonal(L_.data(), p);
    }
    return 2.0 * logs;
}

std::vector<double> TiedSolver::solve(const double* right) const {
    std::vector<double> out(right, right + data_.own + data_.rest);
    double* rest = out.data() + data_.own;
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
        const Block& block = blocks_[b];
        const std::int64_t m = block.size, t = static_cast<std::int64_t>(block.touched.size());
        if (!m) continue;
        double* x = out.data() + block.first;
        dense::solve_lower(lower_[b].data(), m, x);
        for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t k = 0; k < t; ++k) rest[block.touched[k]] -= gain_[b][i * t + k] * x[i];
    }
    if (data_.rest) dense::solve(L_.data(), data_.rest, rest);
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
        const Block& block = blocks_[b];
        const std::int64_t m = block.size, t = static_cast<std::int64_t>(block.touched.size());
        if (!m) continue;
        double* x = out.data() + block.first;
        for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t k = 0; k < t; ++k) x[i] -= gain_[b][i * t + k] * rest[block.touched[k]];
        dense::solve_lower_transposed(lower_[b].data(), m, x);
    }
    return out;
}

std::vector<double> TiedSolver::covariance(std::int64_t columns) const {
    const std::int64_t p = data_.rest;
    if (columns < 0 || columns > p) throw std::invalid_argument("there are not so many columns");
    std::vector<double> out(columns * columns), x(p);
    for (std::int64_t k = 0; k < columns; ++k) {
        std::fill(x.begin(), x.end(), 0.0);
        x[p - columns + k] = 1.0;
        dense::solve(L_.data(), p, x.data());
        std::copy_n(x.end() - columns, columns, &out[k * columns]);
    }
    return out;
}

std::vector<double> TiedSolver::spread() const {
    const std::int64_t n = rows(), q = data_.width, p = data_.rest;
    std::vector<double> out(3 * n, 0.0), inverse(p * p), here, all, half, left, through, product;
    if (p) dense::inverse(L_.data(), p, inverse.data());
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
        const Block& block = blocks_[b];
        const std::int64_t m = block.size, t = static_cast<std::int64_t>(block.touched.size());
        here.resize(t * t);
        for (std::int64_t k = 0; k < t; ++k)
            for (std::int64_t j = 0; j < t; ++j) here[k * t + j] = inverse[block.touched[k] * p + block.touched[j]];
        // A⁻¹ and A⁻¹ B of the block: each row needs differences of two of their rows
        all.assign(m * m, 0.0);
        half = gain_[b];
        if (m) {
            dense::inverse(lower_[b].data(), m, all.data());
            for (std::int64_t i = m - 1; i >= 0; --i) {  // L'⁻¹ (L⁻¹ B)
                double* row = &half[i * t];
                for (std::int64_t k = i + 1; k < m; ++k) {
                    const double l = lower_[b][k * m + i];
                    if (l == 0.0) continue;
                    for (std::int64_t j = 0; j < t; ++j) row[j] -= l * half[k * t + j];
                }
                const double d = 1.0 / lower_[b][i * m + i];
                for (std::int64_t j = 0; j < t; ++j) row[j] *= d;
            }
        }
        left.resize(t);
        through.resize(t);
        product.resize(t);
        for (std::int64_t i = block.begin; i < block.end; ++i) {
            std::fill(through.begin(), through.end(), 0.0);
            double own = 0.0;
            if (data_.plus[i] >= 0) {
                const std::int64_t u = data_.plus[i] - block.first, v = data_.minus[i] - block.first;
                own = own_scale_ * own_scale_ * (all[u * m + u] + all[v * m + v] - 2.0 * all[u * m + v]);
                for (std::int64_t j = 0; j < t; ++j) through[j] = own_scale_ * (half[u * t + j] - half[v * t + j]);
            }
            for (std::int64_t j = 0; j < t; ++j) left[j] = -through[j];
            for (std::int64_t k = 0; k < q; ++k)
                if (local_[i * q + k] >= 0) left[local_[i * q + k]] += scaled(i, k);
            double total = own, mine = own, theirs = 0.0;
            for (std::int64_t k = 0; k < t; ++k) {
                product[k] = dense::dot(&here[k * t], left.data(), t);
                total += product[k] * left[k];
                mine -= product[k] * through[k];
            }
            for (std::int64_t k = 0; k < q; ++k) {
                const std::int64_t at = local_[i * q + k];
                if (at >= 0 && data_.rest_column[i * q + k] < data_.random_rest) theirs += product[at] * scaled(i, k);
            }
            out[i] = total;
            out[n + i] = mine;
            out[2 * n + i] = theirs;
        }
    }
    return out;
}

}  // namespace ordbridge
