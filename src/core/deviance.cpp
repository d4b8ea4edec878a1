#include "deviance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "dense.hpp"
#include "eigen.hpp"
#include "information.hpp"
#include "sizes.hpp"

namespace ordbridge {
namespace {

constexpr double REGULAR = 1e-3;  // diagonals of L above it allow a shorter way to the gradient
constexpr double LEAST = 0.1;     // information below it counts as this much
constexpr double INFINITE = std::numeric_limits<double>::infinity();

double dot(const Vector& x, const Vector& y) { return dense::dot(x.data(), y.data(), static_cast<dense::Size>(x.size())); }

void add(double factor, const Vector& from, Vector& to) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += factor * from[i];
}

// T = L'M L, block by block
void transform(const Design& design, const Cholesky& L, const BlockMatrix& M, BlockMatrix& T) {
    const auto block = [](const double* left, auto p, const double* right, auto q, const double* m, double* out) {
        double half[9];  // the lower triangles L are small: M L first, then L' times it
        Vector large;
        double* ML = half;
        if (p * q > 9) {
            large.resize(p * q);
            ML = large.data();
        }
        for (int a = 0; a < p; ++a)
            for (int b = 0; b < q; ++b) {
                double total = 0.0;
                for (int k = b; k < q; ++k) total += m[a * q + k] * right[k * q + b];
                ML[a * q + b] = total;
            }
        for (int a = 0; a < p; ++a)
            for (int b = 0; b < q; ++b) {
                double total = 0.0;
                for (int k = a; k < p; ++k) total += left[k * p + a] * ML[k * q + b];
                out[a * q + b] = total;
            }
    };
    for (std::size_t f = 0; f < design.factors.size(); ++f)
        with_size(design.factors[f].size, [&](auto q) {
            for (std::size_t at = 0; at < M.own[f].size(); at += q * q)
                block(L[f].data(), q, L[f].data(), q, &M.own[f][at], &T.own[f][at]);
        });
    for (std::size_t k = 0; k < design.pairs.size(); ++k) {
        const int first = design.pairs[k].first, second = design.pairs[k].second;
        with_sizes(design.factors[first].size, design.factors[second].size, [&](auto p, auto q) {
            for (std::size_t at = 0; at < M.cross[k].size(); at += p * q)
                block(L[first].data(), p, L[second].data(), q, &M.cross[k][at], &T.cross[k][at]);
        });
    }
}

// G += factor * sum over levels of e_g u_g', per factor
void add_outer(const Design& design, const Vector& e, const Vector& u, double factor, Cholesky& G) {
    for (std::size_t f = 0; f < design.factors.size(); ++f) {
        const Factor& own = design.factors[f];
        with_size(own.size, [&](auto q) {
            for (int g = 0; g < own.levels; ++g)
                for (int a = 0; a < q; ++a)
                    for (int b = 0; b < q; ++b) G[f][a * q + b] += factor * own.of(e, g)[a] * own.of(u, g)[b];
        });
    }
}

// G = L'^-1 G
void solve_transposed(const Vector& L, int q, Vector& G) {
    for (int a = q - 1; a >= 0; --a)
        for (int b = 0; b < q; ++b) {
            for (int k = a + 1; k < q; ++k) G[a * q + b] -= L[k * q + a] * G[k * q + b];
            G[a * q + b] /= L[a * q + a];
        }
}

}  // namespace

Deviance::Deviance(std::shared_ptr<const Design> design, const Vector& columns, int count, std::vector<Entry> entries,
                   bool reml)
    : design_(std::move(design)),
      entries_(std::move(entries)),
      reml_(reml),
      p_(count - 1),
      M_(*design_),
      elimination_(make_elimination(*design_)),
      L_(new_cholesky(*design_)),
      T_(*design_),
      N_(*design_),
      u_(design_->effects, 0.0),
      A_(static_cast<std::size_t>(std::max(p_, 0)) * std::max(p_, 0)),
      gamma_(std::max(p_, 0)),
      parts_(3, Vector(entries_.size(), 0.0)) {
    const std::size_t n = design_->n;
    if (count < 1 || columns.size() != n * count) throw std::invalid_argument("X and y do not have the design's rows");
    if (freedom() < 1) throw std::invalid_argument("there are not more rows than columns of X");
    std::vector<const double*> z;
    for (const Factor& factor : design_->factors) z.push_back(factor.z.data());
    cross_products(*design_, z, nullptr, M_);
    Vector column(n);
    for (int j = 0; j < count; ++j) {
        for (std::size_t i = 0; i < n; ++i) column[i] = columns[i * count + j];
        Zx_.emplace_back(design_->effects, 0.0);
        add_row_sums(*design_, z, column.data(), Zx_.back());
    }
    yy_ = dot(column, column);
    if (!std::isfinite(yy_)) throw std::invalid_argument("y is not finite");
    C_.assign(count, Vector(design_->effects, 0.0));
}

double Deviance::sigma() const { return std::sqrt(r2_ / freedom()); }

// Z'(x - Z L c) for the column x whose cross-product is Zx[j]
Vector Deviance::residual_sums(int j, const Vector& c) const {
    Vector Lc(c.size()), out(c.size());
    for (std::size_t f = 0; f < L_.size(); ++f) {
        const Factor& factor = design_->factors[f];
        const int q = factor.size;
        for (int g = 0; g < factor.levels; ++g)
            for (int a = 0; a < q; ++a) {
                double total = 0.0;
                for (int k = 0; k <= a; ++k) total += L_[f][a * q + k] * factor.of(c, g)[k];
                factor.of(Lc, g)[a] = total;
            }
    }
    multiply(*design_, M_, Lc, out);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = Zx_[j][i] - out[i];
    return out;
}

// Z'e
Vector Deviance::residual_of_y() const {
    Vector e = residual_sums(p_, u_);
    for (int j = 0; j < p_; ++j) add(-gamma_[j], Zx_[j], e);
    return e;
}

// G += sum of M L N over levels and pairs, half the gradient of log det H in L
void Deviance::log_determinant_gradient(Cholesky& G) const {
    // out += m l n' with m: p × q, l: q × q lower triangular, n: p × q; strides for those that are stored transposed
    const auto add_block = [](const double* m, int mi, int mj, const double* l, auto q, const double* n, int ni, int nj, auto p,
                              double* out) {
        for (int a = 0; a < p; ++a)
            for (int k = 0; k < q; ++k) {
                double ml = 0.0;
                for (int b = k; b < q; ++b) ml += m[a * mi + b * mj] * l[b * q + k];
                for (int c = 0; c < p; ++c) out[a * p + c] += ml * n[c * ni + k * nj];
            }
    };
    for (std::size_t f = 0; f < L_.size(); ++f)
        with_size(design_->factors[f].size, [&](auto q) {
            for (std::size_t at = 0; at < M_.own[f].size(); at += q * q)
                add_block(&M_.own[f][at], q, 1, L_[f].data(), q, &N_.own[f][at], q, 1, q, G[f].data());
        });
    for (std::size_t k = 0; k < design_->pairs.size(); ++k) {
        const int first = design_->pairs[k].first, second = design_->pairs[k].second;
        with_sizes(design_->factors[first].size, design_->factors[second].size, [&](auto p, auto q) {
            for (std::size_t at = 0; at < M_.cross[k].size(); at += p * q) {
                const double *m = &M_.cross[k][at], *n = &N_.cross[k][at];
                add_block(m, q, 1, L_[second].data(), q, n, q, 1, p, G[first].data());
                add_block(m, 1, q, L_[first].data(), p, n, 1, q, q, G[second].data());
            }
        });
    }
}

// Fill the gradients of log det H, r^2 and log det A in the free entries.
//
// Where L can be inverted, L'Z'Z L N = I - N, L'Z'e = u and L'Z'W = C give them without the cross-products of Z.
void Deviance::fill_gradients(const Vector& inverse) {
    const bool regular = is_regular(*design_, L_, REGULAR);
    for (int which = 0; which < (reml_ ? 3 : 2); ++which) {
        Cholesky G = new_cholesky(*design_);
        if (which == 0 && regular) {
            elimination_->diagonal_inverse(N_);
            for (std::size_t f = 0; f < L_.size(); ++f) {
                const int q = design_->factors[f].size;
                for (std::size_t at = 0; at < N_.own[f].size(); at += q * q)
                    for (int a = 0; a < q * q; ++a) G[f][a] -= N_.own[f][at + a];
                for (int a = 0; a < q; ++a) G[f][a * q + a] += design_->factors[f].levels;
            }
        } else if (which == 0) {
            elimination_->selected_inverse(N_);
            log_determinant_gradient(G);
        } else if (which == 1) {
            add_outer(*design_, regular ? u_ : residual_of_y(), u_, -1.0, G);
        } else {
            for (int j = 0; j < p_; ++j) {  // sum over k of A^-1_jk C_k first, which is one outer product for every j
                Vector weighted(u_.size(), 0.0);
                for (int k = 0; k < p_; ++k) add(inverse[j * p_ + k], C_[k], weighted);
                add_outer(*design_, regular ? C_[j] : residual_sums(j, C_[j]), weighted, -1.0, G);
            }
        }
        for (std::size_t f = 0; regular && f < L_.size(); ++f)
            solve_transposed(L_[f], design_->factors[f].size, G[f]);
        for (std::size_t k = 0; k < entries_.size(); ++k) {
            const Entry& entry = entries_[k];
            parts_[which][k] = 2.0 * G[entry.factor][entry.row * design_->factors[entry.factor].size + entry.column];
        }
    }
}

double Deviance::evaluate(const Vector& x, Vector& gradient) {
    if (x.size() != entries_.size()) throw std::invalid_argument("the number of parameters is wrong");
    gradient.resize(x.size());
    if (known_ && last_x_ == x) {
        gradient = last_gradient_;
        return last_value_;
    }
    ++evaluations;
    known_ = true;
    differentiated_ = false;
    last_x_ = x;
    last_value_ = INFINITE;
    std::fill(gradient.begin(), gradient.end(), std::numeric_limits<double>::quiet_NaN());
    last_gradient_ = gradient;
    set_entries(*design_, entries_, x.data(), L_);
    elimination_->set(L_);
    transform(*design_, L_, M_, T_);
    const double logdet = elimination_->factorise(T_);
    if (std::isnan(logdet)) return INFINITE;
    for (int j = 0; j <= p_; ++j) {  // R^-1 L'Z'(X, y), with H = R R'
        for (std::size_t f = 0; f < L_.size(); ++f) {
            const Factor& factor = design_->factors[f];
            transposed_times(L_[f].data(), factor.size, factor.of(Zx_[j], 0), factor.levels, factor.of(C_[j], 0));
        }
        elimination_->forward(C_[j]);
    }
    Vector b(p_), inverse(A_.size()), factor;
    for (int j = 0; j < p_; ++j) {
        for (int k = 0; k <= j; ++k) A_[j * p_ + k] = A_[k * p_ + j] = (j == k ? 1.0 : 0.0) - dot(C_[j], C_[k]);
        b[j] = -dot(C_[j], C_[p_]);
    }
    factor = A_;
    if (!dense::cholesky(factor.data(), p_, p_)) return INFINITE;
    dense::inverse(factor.data(), p_, inverse.data());
    r2_ = yy_ - dot(C_[p_], C_[p_]);
    double logdet_A = 0.0;
    u_ = C_[p_];
    for (int j = 0; j < p_; ++j) {
        logdet_A += 2.0 * std::log(factor[j * p_ + j]);
        gamma_[j] = 0.0;
        for (int k = 0; k < p_; ++k) gamma_[j] += inverse[j * p_ + k] * b[k];
        r2_ -= gamma_[j] * b[j];
        add(-gamma_[j], C_[j], u_);
    }
    if (!(r2_ > 0.0)) return INFINITE;
    elimination_->backward(u_);
    for (int j = 0; reml_ && j < p_; ++j) elimination_->backward(C_[j]);
    fill_gradients(inverse);
    double value = logdet + freedom() * (1.0 + std::log(2.0 * 3.14159265358979323846 * r2_ / freedom()));
    if (reml_) value += logdet_A;
    for (std::size_t k = 0; k < x.size(); ++k) {
        gradient[k] = 0.5 * (parts_[0][k] + freedom() / r2_ * parts_[1][k]);
        if (reml_) gradient[k] += 0.5 * parts_[2][k];
    }
    last_value_ = std::isfinite(value) ? 0.5 * value : INFINITE;
    last_gradient_ = gradient;
    return last_value_;
}

bool Deviance::guess(Vector& inverse) {
    if (!is_regular(*design_, L_)) return false;
    const std::size_t k = entries_.size();
    Vector information(k * k, 0.0), traces(k, 0.0);
    add_variance_information(*design_, entries_, L_, N_, information, traces);
    for (std::size_t i = 0; i < k; ++i)
        for (std::size_t j = 0; j < k; ++j) information[i * k + j] -= 0.5 / design_->n * traces[i] * traces[j];
    inverse = raised_inverse(information, static_cast<int>(k), [](double) { return LEAST; });
    return true;
}

}  // namespace ordbridge
