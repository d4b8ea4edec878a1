#include "ratings.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "dense.hpp"
#include "simd.hpp"

namespace ordbridge {
namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();
constexpr double BEYOND_ALL = 1e100;  // a loss of which no derivative makes sense

// Column after column, checked.
Vector columns_of(const char* problem, const Vector& rows, std::size_t n, int columns) {
    if (rows.size() != n * columns) throw std::invalid_argument("the columns do not have as many rows as y");
    Vector out(rows.size());
    for (std::size_t i = 0; i < n; ++i)
        for (int j = 0; j < columns; ++j) {
            if (!std::isfinite(rows[i * columns + j])) throw std::invalid_argument(problem);
            out[j * n + i] = rows[i * columns + j];
        }
    return out;
}

// A number for every row, `otherwise` if none is given.
Vector one_per_row(const char* problem, const Vector& given, std::size_t n, double otherwise, double least) {
    if (given.empty()) return Vector(n, otherwise);
    if (given.size() != n) throw std::invalid_argument(problem);
    for (double value : given)
        if (!std::isfinite(value) || value < least) throw std::invalid_argument(problem);
    return given;
}

}  // namespace

Ratings::Ratings(const RatingData& data)
    : link_(data.link),
      n_(data.y.size()),
      columns_(data.columns),
      alphas_(data.alphas),
      blocks_(1 + data.nominals),
      scales_(data.scales),
      jacobian_(data.jacobian) {
    cuts_ = data.cuts;  // of two categories symmetric about zero the only cut-point is zero: no parameter is left
    if (cuts_ < 1 || jacobian_.size() != static_cast<std::size_t>(cuts_) * alphas_ || (alphas_ < 1 && (cuts_ > 1 || data.nominals)))
        throw std::invalid_argument("there is no threshold");
    if (n_ == 0) throw std::invalid_argument("there are no rows");
    for (std::int64_t value : data.y) {
        if (value < 0 || value > cuts_) throw std::invalid_argument("a category is beyond the last threshold");
        y_.push_back(static_cast<int>(value));
    }
    X_ = columns_of("X is not finite", data.X, n_, columns_);
    N_ = columns_of("nominal is not finite", data.nominal, n_, data.nominals);
    S_ = columns_of("scale is not finite", data.scale, n_, scales_);
    plain_ = data.weights.empty() && scales_ == 0;
    weights_ = one_per_row("weights must be one for each row, 0 or more", data.weights, n_, 1.0, 0.0);
    offset_ = one_per_row("offset must be one for each row", data.offset, n_, 0.0, -std::numeric_limits<double>::max());
    for (Vector* row : {&fixed_, &up_, &low_, &inverse_sigma_, &eta_, &upper_, &lower_, &log_pi_, &r, &d, &c, &l_up, &l_lo,
                        &r_up, &r_lo, &d_up, &d_lo})
        row->resize(n_);
}

void Ratings::set_edges(const double* alpha, Vector& out) const {
    out.assign(static_cast<std::size_t>(blocks_) * (cuts_ + 2), 0.0);
    for (int m = 0; m < blocks_; ++m)
        for (int k = 0; k < cuts_; ++k)
            for (int a = 0; a < alphas_; ++a) out[edge(m, k + 1)] += jacobian_[k * alphas_ + a] * alpha[m * alphas_ + a];
}

bool Ratings::set(const double* x) {
    set_edges(x, edges_);
    edges_[0] = -BEYOND;
    edges_[cuts_ + 1] = BEYOND;
    for (std::size_t i = 0; i < n_; ++i) {
        up_[i] = edges_[y_[i] + 1];
        low_[i] = edges_[y_[i]];
    }
    for (int m = 1; m < blocks_; ++m) {
        const double* column = &N_[(m - 1) * n_];
        for (std::size_t i = 0; i < n_; ++i) {
            up_[i] += column[i] * edges_[edge(m, y_[i] + 1)];
            low_[i] += column[i] * edges_[edge(m, y_[i])];
        }
    }
    fixed_ = offset_;
    const double* beta = x + alphas_ * blocks_;
    for (int j = 0; j < columns_; ++j) {
        const double b = beta[j], *column = &X_[j * n_];
        for (std::size_t i = 0; i < n_; ++i) fixed_[i] += column[i] * b;
    }
    if (!plain_) {
        std::fill(inverse_sigma_.begin(), inverse_sigma_.end(), 0.0);
        for (int k = 0; k < scales_; ++k)
            for (std::size_t i = 0; i < n_; ++i) inverse_sigma_[i] -= S_[k * n_ + i] * beta[columns_ + k];
        for (double& value : inverse_sigma_) {
            value = std::exp(value);
            if (!(value > 0.0 && value < BEYOND)) return false;
        }
    }
    for (std::size_t i = 0; i < n_; ++i)
        if (!(up_[i] > low_[i]) && weights_[i] > 0.0) return false;
    return true;
}

double Ratings::losses(const Vector& eta) {
    eta_ = eta;
    if (plain_) {
        for (std::size_t i = 0; i < n_; ++i) {
            upper_[i] = up_[i] - eta_[i];
            lower_[i] = low_[i] - eta_[i];
        }
    } else {
        for (std::size_t i = 0; i < n_; ++i) {  // what is infinitely far away stays where the links know it
            upper_[i] = y_[i] == cuts_ ? BEYOND : (up_[i] - eta_[i]) * inverse_sigma_[i];
            lower_[i] = y_[i] == 0 ? -BEYOND : (low_[i] - eta_[i]) * inverse_sigma_[i];
        }
    }
    row_derivatives(link_, n_, upper_.data(), lower_.data(),
                    {log_pi_.data(), r.data(), d.data(), c.data(), l_up.data(), l_lo.data(), r_up.data(), r_lo.data(),
                     d_up.data(), d_lo.data()});
    double total = 0.0;
    if (plain_) {
#pragma omp simd reduction(+ : total)
        for (std::size_t i = 0; i < n_; ++i) total -= log_pi_[i];
    } else {
        for (std::size_t i = 0; i < n_; ++i) {
            const double w = weights_[i], one = inverse_sigma_[i] * w, two = inverse_sigma_[i] * one,
                         three = inverse_sigma_[i] * two;
            if (w == 0.0) {  // a row that says nothing may be impossible
                for (Vector* row : {&r, &d, &c, &l_up, &l_lo, &r_up, &r_lo, &d_up, &d_lo}) (*row)[i] = 0.0;
                continue;
            }
            total -= w * log_pi_[i];
            for (Vector* row : {&r, &l_up, &l_lo}) (*row)[i] *= one;
            for (Vector* row : {&d, &r_up, &r_lo}) (*row)[i] *= two;
            for (Vector* row : {&c, &d_up, &d_lo}) (*row)[i] *= three;
        }
    }
    return total < BEYOND_ALL ? total : INFINITE;  // not a number is no likelihood either
}

void Ratings::gradient(const Vector& half, const Vector& v, Vector& e, double* out) const {
    Vector edge_sums(static_cast<std::size_t>(blocks_) * (cuts_ + 2), 0.0);
    for (std::size_t i = 0; i < n_; ++i) {
        e[i] += r[i] - v[i] * d[i];
        const double up = l_up[i] + half[i] * d_up[i] - v[i] * r_up[i];
        const double low = l_lo[i] + half[i] * d_lo[i] - v[i] * r_lo[i];
        edge_sums[y_[i] + 1] += up;
        edge_sums[y_[i]] += low;
        for (int m = 1; m < blocks_; ++m) {
            const double n = N_[(m - 1) * n_ + i];
            edge_sums[edge(m, y_[i] + 1)] += n * up;
            edge_sums[edge(m, y_[i])] += n * low;
        }
    }
    std::fill(out, out + parameters(), 0.0);
    for (int m = 0; m < blocks_; ++m)
        for (int a = 0; a < alphas_; ++a)
            for (int cut = 0; cut < cuts_; ++cut)
                out[m * alphas_ + a] += jacobian_[cut * alphas_ + a] * edge_sums[edge(m, cut + 1)];
    double* by_beta = out + blocks_ * alphas_;
    for (int j = 0; j < columns_; ++j) by_beta[j] = dense::dot(&X_[j * n_], e.data(), static_cast<dense::Size>(n_));
    if (!scales_) return;
    for (std::size_t i = 0; i < n_; ++i) {
        const double a = above(i), b = below(i);
        const double by_l = -(a * l_up[i] + b * l_lo[i]), by_d = -(2.0 * d[i] + a * d_up[i] + b * d_lo[i]);
        const double total = by_l + half[i] * by_d - v[i] * r_scale(i);
        for (int k = 0; k < scales_; ++k) by_beta[columns_ + k] += S_[k * n_ + i] * total;
    }
}

void Ratings::directions(int k, double* up, double* low, double* eta) const {
    const int beta = k - alphas_ * blocks_;
    if (beta >= 0) {
        for (std::size_t i = 0; i < n_; ++i) eta[i] += X_[beta * n_ + i];
        return;
    }
    const int block = k / alphas_, alpha = k % alphas_;
    for (std::size_t i = 0; i < n_; ++i) {
        const double n = block ? N_[(block - 1) * n_ + i] : 1.0;
        if (y_[i] < cuts_) up[i] = n * jacobian_[y_[i] * alphas_ + alpha];
        if (y_[i] > 0) low[i] = n * jacobian_[(y_[i] - 1) * alphas_ + alpha];
    }
}

void Ratings::add_curvature(const Vector& half, const Vector& v, const Vector& up, const Vector& low, const Vector& eta,
                            std::size_t size, Vector& H) const {
    Vector aa(n_), ab(n_), bb(n_), a(size * n_), b(size * n_), left(n_), right(n_);
    for (std::size_t i = 0; i < n_; ++i) {
        const double w = weights_[i];
        if (w == 0.0) continue;
        const IntervalCurvature c = interval_curvature(link_, upper_[i], lower_[i]);
        aa[i] = w * (c.l_aa + v[i] * c.r_aa + half[i] * c.d_aa);
        ab[i] = w * (c.l_ab + v[i] * c.r_ab + half[i] * c.d_ab);
        bb[i] = w * (c.l_bb + v[i] * c.r_bb + half[i] * c.d_bb);
    }
    for (std::size_t i = 0; i < size * n_; ++i) {
        a[i] = up[i] - eta[i];
        b[i] = low[i] - eta[i];
    }
    const auto count = static_cast<dense::Size>(n_);
    for (std::size_t k = 0; k < size; ++k) {
        const double *up_k = &a[k * n_], *low_k = &b[k * n_];
        for (std::size_t i = 0; i < n_; ++i) {
            left[i] = aa[i] * up_k[i] + ab[i] * low_k[i];
            right[i] = ab[i] * up_k[i] + bb[i] * low_k[i];
        }
        for (std::size_t l = 0; l <= k; ++l) {
            const double value = dense::dot(left.data(), &a[l * n_], count) + dense::dot(right.data(), &b[l * n_], count);
            H[k * size + l] += value;
            if (l < k) H[l * size + k] += value;
        }
    }
}

void Ratings::change_of_r(const double* direction, Vector& change) const {
    Vector moved;
    set_edges(direction, moved);
    const double* beta = direction + alphas_ * blocks_;
    for (int j = 0; j < columns_; ++j) {
        const double b = beta[j], *column = &X_[j * n_];
        for (std::size_t i = 0; i < n_; ++i) change[i] += column[i] * b;
    }
    for (std::size_t i = 0; i < n_; ++i) {
        double up = moved[y_[i] + 1], low = moved[y_[i]];
        for (int m = 1; m < blocks_; ++m) {
            up += N_[(m - 1) * n_ + i] * moved[edge(m, y_[i] + 1)];
            low += N_[(m - 1) * n_ + i] * moved[edge(m, y_[i])];
        }
        change[i] = d[i] * change[i] + r_up[i] * up + r_lo[i] * low;
    }
    for (int k = 0; k < scales_; ++k)
        for (std::size_t i = 0; i < n_; ++i) change[i] += r_scale(i) * S_[k * n_ + i] * beta[columns_ + k];
}

Vector Ratings::hessian() const {
    const int whole = edges(), first = edge(blocks_, 0);
    Vector H(static_cast<std::size_t>(whole) * whole, 0.0);
    for (std::size_t i = 0; i < n_; ++i) {
        const double w = weights_[i];
        if (w == 0.0) continue;
        // r_up = ga - r ra and l_uu = ra^2 - ga, with ra = -l_up; r_lo = r rb - gb and l_ll = rb^2 + gb, rb = l_lo; these
        // squares and products hold the weight twice
        const double uu = (l_up[i] * l_up[i] + r[i] * l_up[i]) / w - r_up[i];
        const double ll = (l_lo[i] * l_lo[i] + r[i] * l_lo[i]) / w - r_lo[i];
        const double ul = l_up[i] * l_lo[i] / w;
        const auto N = [&](int m) { return m ? N_[(m - 1) * n_ + i] : 1.0; };
        for (int m = 0; m < blocks_; ++m)
            for (int k = 0; k <= m; ++k) {
                const double nn = N(m) * N(k);
                const int up = edge(m, y_[i] + 1), low = edge(m, y_[i]), up_k = edge(k, y_[i] + 1), low_k = edge(k, y_[i]);
                H[static_cast<std::size_t>(up) * whole + up_k] += nn * uu;
                H[static_cast<std::size_t>(low) * whole + low_k] += nn * ll;
                H[static_cast<std::size_t>(up) * whole + low_k] += nn * ul;
                if (k < m) H[static_cast<std::size_t>(low) * whole + up_k] += nn * ul;
            }
        for (int j = 0; j < columns_; ++j) {
            const double x = X_[j * n_ + i];
            double* row = &H[static_cast<std::size_t>(first + j) * whole];
            for (int m = 0; m < blocks_; ++m) {
                row[edge(m, y_[i] + 1)] += N(m) * r_up[i] * x;
                row[edge(m, y_[i])] += N(m) * r_lo[i] * x;
            }
            for (int k = 0; k <= j; ++k) row[first + k] += d[i] * x * X_[k * n_ + i];
        }
        if (!scales_) continue;
        const double a = above(i), b = below(i), by_r = r_scale(i);
        const double by_up = -(l_up[i] + a * uu + b * ul), by_low = -(l_lo[i] + a * ul + b * ll);
        const double by_both = -(a * by_up + b * by_low);
        for (int k = 0; k < scales_; ++k) {
            const double s = S_[k * n_ + i];
            double* row = &H[static_cast<std::size_t>(first + columns_ + k) * whole];
            for (int m = 0; m < blocks_; ++m) {
                row[edge(m, y_[i] + 1)] += N(m) * by_up * s;
                row[edge(m, y_[i])] += N(m) * by_low * s;
            }
            for (int j = 0; j < columns_; ++j) row[first + j] += by_r * s * X_[j * n_ + i];
            for (int l = 0; l <= k; ++l) row[first + columns_ + l] += by_both * s * S_[l * n_ + i];
        }
    }
    return H;
}

std::vector<int> Ratings::finite_edges() const {
    std::vector<int> found;
    for (int m = 0; m < blocks_; ++m)
        for (int k = 0; k < cuts_; ++k) found.push_back(edge(m, k + 1));
    for (int j = 0; j < columns_ + scales_; ++j) found.push_back(edge(blocks_, 0) + j);
    return found;
}

Vector Ratings::to_parameters(const Vector& G) const {
    const int size = parameters(), from = blocks_ * cuts_ + columns_ + scales_;
    const auto J = [&](int k, int a) {  // how cut-points, beta and zeta depend on the parameters
        if (k >= blocks_ * cuts_) return k - blocks_ * cuts_ == a - blocks_ * alphas_ ? 1.0 : 0.0;
        return a < blocks_ * alphas_ && a / alphas_ == k / cuts_ ? jacobian_[k % cuts_ * alphas_ + a % alphas_] : 0.0;
    };
    Vector out(static_cast<std::size_t>(size) * size, 0.0);
    for (int k = 0; k < from; ++k)
        for (int a = 0; a < size; ++a) {
            const double left = J(k, a);
            if (left == 0.0) continue;
            for (int m = 0; m < from; ++m) {
                const double value = left * G[static_cast<std::size_t>(std::max(k, m)) * from + std::min(k, m)];
                if (value == 0.0) continue;
                for (int b = 0; b < size; ++b) out[static_cast<std::size_t>(a) * size + b] += value * J(m, b);
            }
        }
    return out;
}

}  // namespace ordbridge
