#include "laplace.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "dense.hpp"
#include "eigen.hpp"
#include "information.hpp"
#include "simd.hpp"
#include "sizes.hpp"

namespace ordbridge {
namespace {

constexpr int NEWTON_STEPS = 60, HALVINGS = 40;
constexpr int APPROACHES = 6;  // steps with the factor of an earlier H, each of which takes a fraction of a new factor,
constexpr double LARGE = 5e6;  // in models of which an evaluation takes more multiplications,
constexpr double REACH = 0.5;  // the first of them not longer than this
constexpr double WORTH = 2.0;  // the exact Hessian waits for memory, dense matrices of an evaluation do not
constexpr double ROW = 500.0;  // an evaluation takes as long for a row as so many multiplications of matrices
constexpr double INFINITE = std::numeric_limits<double>::infinity();

double largest(const Vector& x) {
    double size = 0.0;
    for (double value : x) size = std::max(size, std::abs(value));
    return size;
}

double dot(const Vector& x, const Vector& y) { return dense::dot(x.data(), y.data(), static_cast<dense::Size>(x.size())); }

// to += factor * from
void add(double factor, const Vector& from, Vector& to) {
#pragma omp simd
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += factor * from[i];
}

}  // namespace

Laplace::Laplace(std::shared_ptr<const Design> design, const RatingData& data, std::vector<Entry> entries)
    : design_(std::move(design)),
      ratings_(data),
      entries_(std::move(entries)),
      elimination_(make_elimination(*design_)),
      L_(new_cholesky(*design_)),
      M_(*design_),
      N_(*design_) {
    const std::size_t n = design_->n;
    if (ratings_.rows() != n) throw std::invalid_argument("y and X do not have the design's rows");
    for (Vector* row : {&eta_, &half_, &e_}) row->resize(n);
    for (Vector* effects : {&u_, &du_, &base_, &tangent_}) effects->assign(design_->effects, 0.0);
    for (const Factor& factor : design_->factors) {
        zt_.emplace_back(factor.z.size());
        Nz_.emplace_back(factor.z.size());
        z_.push_back(factor.z.data());
        zt_rows_.push_back(zt_.back().data());
    }
}

bool Laplace::set_parameters(const Vector& x) {
    if (!ratings_.set(x.data())) return false;
    set_entries(*design_, entries_, x.data() + ratings_.parameters(), L_);
    for (std::size_t f = 0; f < zt_.size(); ++f)
        transposed_times(L_[f].data(), design_->factors[f].size, z_[f], design_->n, zt_[f].data());
    return true;
}

// Fill the rows' derivatives at u and return h(u); infinite where a rating is impossible.
double Laplace::losses() {
    eta_ = ratings_.fixed();
    add_row_products(*design_, zt_rows_, u_, eta_.data());
    return 0.5 * dot(u_, u_) + ratings_.losses(eta_);
}

Vector Laplace::log_weights(const Vector& normals) {
    const std::size_t size = u_.size(), parts = design_->components(), n = eta_.size();
    if (normals.size() % std::max<std::size_t>(size, 1)) throw std::invalid_argument("there must be a number for every effect");
    std::vector<int> of_effect(size), of_row(n);
    for (const Factor& factor : design_->factors)
        for (std::size_t c = 0; c < parts; ++c)
            for (int g = factor.component[c]; g < factor.component[c + 1]; ++g)
                std::fill_n(&of_effect[factor.offset + static_cast<std::size_t>(g) * factor.size], factor.size, static_cast<int>(c));
    const Factor& first = design_->factors[0];
    for (std::size_t i = 0; i < n; ++i) of_row[i] = of_effect[first.offset + static_cast<std::size_t>(first.level[i]) * first.size];
    // -h of every component at the present u
    const auto heights = [&](double* out) {
        losses();
        for (std::size_t i = 0; i < n; ++i) out[of_row[i]] -= ratings_.loss(i);
        for (std::size_t j = 0; j < size; ++j) out[of_effect[j]] -= 0.5 * u_[j] * u_[j];
    };
    const Vector modes = u_;
    Vector top(parts, 0.0), out(size ? normals.size() / size * parts : 0);
    heights(top.data());
    for (std::size_t s = 0; s * size < normals.size(); ++s) {
        double* row = &out[s * parts];
        for (std::size_t c = 0; c < parts; ++c) row[c] = -top[c];
        const double* normal = &normals[s * size];
        for (std::size_t j = 0; j < size; ++j) row[of_effect[j]] += 0.5 * normal[j] * normal[j];
        u_.assign(normal, normal + size);
        elimination_->backward(u_);
        add(1.0, modes, u_);
        heights(row);
    }
    u_ = modes;
    known_ = false;  // the rows' derivatives are no longer those of the modes
    return out;
}

double Laplace::factorise() {
    elimination_->set(L_);
    cross_products(*design_, zt_rows_, ratings_.d.data(), M_);
    const double logdet = elimination_->factorise(M_);
    factored_ = !std::isnan(logdet);
    return logdet;
}

// du = H^-1 times the gradient of h, with the factor at hand; return its largest entry.
double Laplace::newton_step() {
    du_ = u_;
    add_row_sums(*design_, zt_rows_, ratings_.r.data(), du_);
    elimination_->solve(du_);
    return largest(du_);
}

// Bring u nearer to u^ with the factor of an earlier H, which costs less than a new one, as long as steps shrink so fast that
// only one new factor will be needed.
double Laplace::approach(double value) {
    if (elimination_->cost() < LARGE) return value;
    double before = REACH;
    for (int left = APPROACHES; left > 0; --left) {
        const double size = newton_step();
        const double shrunk = size / before, aim = closeness * closeness;
        if (!(size < before) || size < aim) break;
        if (left < APPROACHES && size * std::pow(shrunk, left) > aim) break;
        add(-1.0, du_, u_);
        const double tried = losses();
        if (!(tried <= value + 1e-11 * std::abs(value))) {
            add(1.0, du_, u_);
            return losses();
        }
        value = tried;
        before = size;
    }
    return value;
}

// Newton's method for u^ from the present u; return f, infinite if there is no mode, with H factored there.
//
// A step shorter than `closeness` is the last one (what then remains is of the order of its square); one shorter than
// its square is not taken but left in du, for a correction of first order.
double Laplace::find_modes() {
    double value = losses();
    if (!(value < INFINITE)) {  // the start was too far out for this parameter vector
        std::fill(u_.begin(), u_.end(), 0.0);
        value = losses();
        if (!(value < INFINITE)) return INFINITE;
    }
    if (factored_) value = approach(value);
    for (int step = 0; step < NEWTON_STEPS; ++step) {
        double logdet = factorise();
        const bool definite = !std::isnan(logdet);
        if (!definite) {  // far from the mode of a link that is not log-concave: leave out negative curvature
            for (double& d : ratings_.d) d = std::max(d, 0.0);
            if (std::isnan(factorise())) return INFINITE;
        }
        const double size = newton_step();
        if (!std::isfinite(size)) return INFINITE;
        if (size < closeness * closeness && definite) return value + 0.5 * logdet;
        add(-1.0, du_, u_);
        double tried = losses(), shrink = 1.0;
        for (int halving = 0; halving < HALVINGS && !(tried <= value + 1e-11 * std::abs(value)); ++halving) {
            shrink *= 0.5;
            add(shrink, du_, u_);
            tried = losses();
        }
        if (!(tried < INFINITE)) return INFINITE;
        value = tried;
        if (size < closeness) {
            std::fill(du_.begin(), du_.end(), 0.0);
            logdet = factorise();
            return std::isnan(logdet) ? INFINITE : value + 0.5 * logdet;
        }
        if (definite) value = approach(value);
    }
    return INFINITE;
}

// Set N z~_i, factor by factor, and half of s_i = z~_i'N z~_i.
void Laplace::leverages() {
    const int n = design_->n;
    for (std::size_t f = 0; f < zt_.size(); ++f) {
        const Factor& factor = design_->factors[f];
        with_size(factor.size, [&](auto q) {
            for (int i = 0; i < n; ++i) {
                const double *block = &N_.own[f][static_cast<std::size_t>(factor.level[i]) * q * q];
                const double* row = &zt_[f][static_cast<std::size_t>(i) * q];
                double* out = &Nz_[f][static_cast<std::size_t>(i) * q];
                for (int a = 0; a < q; ++a) {
                    double total = 0.0;
                    for (int b = 0; b < q; ++b) total += block[a * q + b] * row[b];
                    out[a] = total;
                }
            }
        });
    }
    for (std::size_t k = 0; k < design_->pairs.size(); ++k) {
        const Pairs& pairs = design_->pairs[k];
        with_sizes(design_->factors[pairs.first].size, design_->factors[pairs.second].size, [&](auto p, auto q) {
            for (int i = 0; i < n; ++i) {
                const double* block = &N_.cross[k][static_cast<std::size_t>(pairs.of_row[i]) * p * q];
                const double* left = &zt_[pairs.first][static_cast<std::size_t>(i) * p];
                const double* right = &zt_[pairs.second][static_cast<std::size_t>(i) * q];
                double* out_left = &Nz_[pairs.first][static_cast<std::size_t>(i) * p];
                double* out_right = &Nz_[pairs.second][static_cast<std::size_t>(i) * q];
                for (int a = 0; a < p; ++a)
                    for (int b = 0; b < q; ++b) {
                        out_left[a] += block[a * q + b] * right[b];
                        out_right[b] += block[a * q + b] * left[a];
                    }
            }
        });
    }
    std::fill(half_.begin(), half_.end(), 0.0);
    for (std::size_t f = 0; f < zt_.size(); ++f)
        with_size(design_->factors[f].size, [&](auto q) {
            for (int i = 0; i < n; ++i)
                for (int a = 0; a < q; ++a)
                    half_[i] += zt_[f][static_cast<std::size_t>(i) * q + a] * Nz_[f][static_cast<std::size_t>(i) * q + a];
        });
    for (double& value : half_) value *= 0.5;
}

// Fill the gradient; return the change of 1/2 log det H over the Newton step that was not taken.
double Laplace::fill_gradient(Vector& gradient) {
    const std::size_t n = eta_.size();
    elimination_->selected_inverse(N_);
    leverages();
    for (std::size_t i = 0; i < n; ++i) e_[i] = half_[i] * ratings_.c[i];
    Vector a(u_.size(), 0.0), v(n, 0.0);
    add_row_sums(*design_, zt_rows_, e_.data(), a);
    const double untaken = -dot(a, du_);
    elimination_->solve(a);
    add_row_products(*design_, zt_rows_, a, v.data());
    ratings_.gradient(half_, v, e_, gradient.data());
    const Vector &r = ratings_.r, &d = ratings_.d;
    Cholesky G = new_cholesky(*design_);
    for (std::size_t f = 0; f < zt_.size(); ++f) {
        const Factor& factor = design_->factors[f];
        with_size(factor.size, [&](auto q) {
            double* out = G[f].data();
            for (std::size_t i = 0; i < n; ++i) {
                const double *u = factor.of(u_, factor.level[i]), *own = factor.of(a, factor.level[i]);
                const double *z = z_[f] + i * q, *Nz = &Nz_[f][i * q];
                for (int b = 0; b < q; ++b) {
                    const double right = d[i] * Nz[b] + e_[i] * u[b] - r[i] * own[b];
                    for (int k = b; k < q; ++k) out[k * q + b] += z[k] * right;
                }
            }
        });
    }
    for (std::size_t k = 0; k < entries_.size(); ++k) {
        const Entry& entry = entries_[k];
        gradient[ratings_.parameters() + k] = G[entry.factor][entry.row * design_->factors[entry.factor].size + entry.column];
    }
    return untaken;
}

double Laplace::evaluate(const Vector& x, Vector& gradient) {
    if (static_cast<int>(x.size()) != parameters()) throw std::invalid_argument("the number of parameters is wrong");
    gradient.resize(x.size());
    if (known_ && last_closeness_ <= closeness && last_x_ == x) {
        gradient = last_gradient_;
        return last_value_;
    }
    ++evaluations;
    double value = set_parameters(x) ? find_modes() : INFINITE;
    if (value < INFINITE) value = nodes_.empty() ? value + fill_gradient(gradient) : integrate(gradient);
    if (!(value < INFINITE)) {
        value = INFINITE;
        std::fill(gradient.begin(), gradient.end(), std::numeric_limits<double>::quiet_NaN());
    }
    last_x_ = x;
    last_gradient_ = gradient;
    last_closeness_ = closeness;
    last_value_ = value;
    known_ = true;
    return value;
}

void Laplace::set_modes(const Vector& u) {
    if (u.size() != u_.size()) throw std::invalid_argument("u does not have the design's random effects");
    u_ = u;
    known_ = false;
}

// Differentiating u^ + Z~'r = 0 gives H du = -(Z~'dr + dZ~'r) with dr_i = d_i d eta_i + (dr_i / d cut-point) d cut-point.
const Vector& Laplace::tangent(const Vector& direction) {
    Vector change(eta_.size(), 0.0);
    Cholesky dL = new_cholesky(*design_);
    set_entries(*design_, entries_, direction.data() + ratings_.parameters(), dL);
    // dL'sum r z and z'dL u are taken level by level: only sums over rows need the rows
    Vector Lu(u_.size()), sums(u_.size(), 0.0);
    for (std::size_t f = 0; f < zt_.size(); ++f) {
        const Factor& factor = design_->factors[f];
        const int q = factor.size;
        for (int g = 0; g < factor.levels; ++g)
            for (int a = 0; a < q; ++a) {
                double total = 0.0;
                for (int b = 0; b <= a; ++b) total += dL[f][a * q + b] * factor.of(u_, g)[b];
                factor.of(Lu, g)[a] = total;
            }
    }
    add_row_products(*design_, z_, Lu, change.data());
    ratings_.change_of_r(direction.data(), change);
    add_row_sums(*design_, z_, ratings_.r.data(), sums);
    for (std::size_t f = 0; f < zt_.size(); ++f) {
        const Factor& factor = design_->factors[f];
        transposed_times(dL[f].data(), factor.size, factor.of(sums, 0), factor.levels, factor.of(du_, 0));
    }
    add_row_sums(*design_, zt_rows_, change.data(), du_);
    for (double& value : du_) value = -value;
    elimination_->solve(du_);
    return du_;
}

void Laplace::prepare(const Vector& direction) {
    tangent_ = tangent(direction);
    base_ = u_;
}

void Laplace::moved(double step) {
    u_ = base_;
    add(step, tangent_, u_);
    known_ = false;
}

Vector Laplace::information() {
    const int size = parameters(), own = ratings_.parameters();
    // in all edges: the Hessian of the losses, and its part across to u
    const std::size_t whole = ratings_.edges();
    const Vector H = ratings_.hessian();
    std::vector<Vector> cross(whole, Vector(u_.size(), 0.0));
    for (std::size_t f = 0; f < zt_.size(); ++f) {
        const Factor& factor = design_->factors[f];
        with_size(factor.size, [&](auto q) {
            ratings_.sensitivities([&](std::size_t i, int edge, double weight) {
                const double* z = &zt_[f][i * q];
                double* out = factor.of(cross[edge], factor.level[i]);
                for (int a = 0; a < q; ++a) out[a] += weight * z[a];
            });
        });
    }
    const std::vector<int> finite = ratings_.finite_edges();
    const std::size_t mean = finite.size();
    for (int k : finite) elimination_->forward(cross[k]);  // x'H^-1 y = (R^-1 x)'(R^-1 y)
    Vector G(mean * mean, 0.0);
    for (std::size_t j = 0; j < mean; ++j)
        for (std::size_t k = 0; k <= j; ++k)
            G[j * mean + k] = H[finite[j] * whole + finite[k]] - dot(cross[finite[j]], cross[finite[k]]);
    const Vector thresholds_and_coefficients = ratings_.to_parameters(G);
    Vector out(static_cast<std::size_t>(size) * size, 0.0);
    for (int a = 0; a < own; ++a)
        for (int b = 0; b < own; ++b) out[a * size + b] = thresholds_and_coefficients[a * own + b];
    const std::size_t k = entries_.size();
    Vector variance(k * k, 0.0), traces(k, 0.0);
    add_variance_information(*design_, entries_, L_, N_, variance, traces);
    for (std::size_t i = 0; i < k; ++i)
        for (std::size_t j = 0; j < k; ++j) out[(own + i) * size + own + j] = variance[i * k + j];
    return out;
}

bool Laplace::guess(Vector& inverse) {
    if (!is_regular(*design_, L_)) return false;
    inverse = raised_inverse(information(), parameters(),
                             [](double largest) { return 1e-2 * std::max(1e-3 * largest, 1.0); });
    return true;
}

Vector Laplace::hessian(const Vector& x, const std::vector<int>& free, double difference, Patience& patience) {
    Vector gradient(x.size()), ahead(x.size());
    if (!(evaluate(x, gradient) < INFINITE)) throw std::invalid_argument("there is no likelihood at this point");
    const std::size_t k = free.size();
    const double one = elimination_->cost() + ROW * design_->n;
    if (nodes_.empty() && !ratings_.scaled() && WORTH * cost_of_exact(k) < static_cast<double>(k) * one) return exact_hessian(free);
    const Vector base = u_;
    std::vector<Vector> tangents;
    for (int j : free) {  // all from the same point, before it is left
        Vector direction(x.size(), 0.0);
        direction.at(j) = 1.0;
        tangents.push_back(tangent(direction));
    }
    Vector H(k * k);
    for (std::size_t row = 0; row < k; ++row) {
        patience.check();
        u_ = base;
        add(difference, tangents[row], u_);
        known_ = false;
        Vector moved = x;
        moved[free[row]] += difference;
        evaluate(moved, ahead);
        for (std::size_t column = 0; column < k; ++column)
            H[row * k + column] = (ahead[free[column]] - gradient[free[column]]) / difference;
    }
    u_ = base;
    known_ = false;
    for (std::size_t i = 0; i < k; ++i)
        for (std::size_t j = 0; j < i; ++j) H[i * k + j] = H[j * k + i] = 0.5 * (H[i * k + j] + H[j * k + i]);
    return H;
}

}  // namespace ordbridge
