// The likelihood of a cumulative link mixed model with one random effect a level, by adaptive Gauss-Hermite quadrature.
//
// With h(u) = sum of the losses of a level's rows + u^2 / 2, its minimiser u^ and H = h''(u^), and with the nodes x_k and
// weights w_k of the weight function exp(-x^2) (Pinheiro & Bates 1995, section 2.4; ordinal::clmm does the same),
//
//     f = sum over levels of 1/2 log H - log sum_k w_k / sqrt(pi) exp(x_k^2 - h(u_k)),   u_k = u^ + sqrt(2 / H) x_k.
//
// With p_k the shares of the nodes in the sum and delta_k = u_k - u^,
//
//     df = sum over k of p_k dh(u_k) at fixed u_k  +  A dH + B du^,
//     A = (1 - sum p_k h'(u_k) delta_k) / (2 H),   B = sum p_k h'(u_k),   du^ = -dh'(u^) / H at fixed u^.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "laplace.hpp"

namespace ordbridge {

void Laplace::set_quadrature(const Vector& nodes, const Vector& weights) {
    if (design_->factors.size() != 1 || design_->factors[0].size != 1)
        throw std::invalid_argument("quadrature needs one grouping factor with one effect");
    if (nodes.size() != weights.size()) throw std::invalid_argument("every node needs a weight");
    for (std::size_t k = 0; k < nodes.size(); ++k)
        if (!std::isfinite(nodes[k]) || !(weights[k] > 0.0 && std::isfinite(weights[k])))
            throw std::invalid_argument("a node is not finite, or its weight not positive");
    nodes_ = nodes;
    weights_ = weights;
    known_ = false;
}

double Laplace::integrate(Vector& gradient) {
    const Factor& factor = design_->factors[0];
    const std::size_t n = eta_.size(), levels = factor.levels, count = nodes_.size();
    const int own = ratings_.parameters();
    const double *z = z_[0], *zt = zt_rows_[0];
    elimination_->selected_inverse(N_);
    const Vector& inverse = N_.own[0];  // 1 / H
    const auto effect = [&](std::size_t g, std::size_t k) { return u_[g] + std::sqrt(2.0 * inverse[g]) * nodes_[k]; };
    Vector eta(n), share(levels * count);
    const auto at_node = [&](std::size_t k) {
        eta = ratings_.fixed();
        for (std::size_t i = 0; i < n; ++i) eta[i] += zt[i] * effect(factor.level[i], k);
        ratings_.losses(eta);
    };
    for (std::size_t k = 0; k < count; ++k) {  // logarithms of the terms of the sum
        at_node(k);
        for (std::size_t g = 0; g < levels; ++g)
            share[g * count + k] = std::log(weights_[k]) + nodes_[k] * nodes_[k] - 0.5 * effect(g, k) * effect(g, k);
        for (std::size_t i = 0; i < n; ++i) share[factor.level[i] * count + k] -= ratings_.loss(i);
    }
    double value = 0.0;
    for (std::size_t g = 0; g < levels; ++g) {
        double* terms = &share[g * count];
        const double highest = *std::max_element(terms, terms + count);
        double total = 0.0;
        for (std::size_t k = 0; k < count; ++k) total += terms[k] = std::exp(terms[k] - highest);
        for (std::size_t k = 0; k < count; ++k) terms[k] /= total;
        value -= 0.5 * std::log(inverse[g]) + highest + std::log(total) - 0.5 * std::log(std::acos(-1.0));
    }
    std::fill(gradient.begin(), gradient.end(), 0.0);
    double by_L = 0.0;
    const Vector none(n, 0.0);
    Vector part(own), slope(levels, 0.0), spread(levels, 0.0);  // B, and the sum in A
    for (std::size_t k = 0; k < count; ++k) {
        at_node(k);
        for (std::size_t i = 0; i < n; ++i) {
            const double p = share[factor.level[i] * count + k];
            for (Vector* row : {&ratings_.r, &ratings_.l_up, &ratings_.l_lo}) (*row)[i] = p > 0.0 ? p * (*row)[i] : 0.0;
            if (!(p > 0.0))  // so far out the others may be infinite
                for (Vector* row : {&ratings_.d, &ratings_.d_up, &ratings_.d_lo, &ratings_.r_up, &ratings_.r_lo})
                    (*row)[i] = 0.0;
        }
        std::fill(e_.begin(), e_.end(), 0.0);
        ratings_.gradient(none, none, e_, part.data());
        for (int j = 0; j < own; ++j) gradient[j] += part[j];
        const auto add = [&](std::size_t g, double rise) {
            slope[g] += rise;
            spread[g] += rise * (effect(g, k) - u_[g]);
        };
        for (std::size_t i = 0; i < n; ++i) {
            by_L += e_[i] * z[i] * effect(factor.level[i], k);
            add(factor.level[i], e_[i] * zt[i]);
        }
        for (std::size_t g = 0; g < levels; ++g) add(g, share[g * count + k] * effect(g, k));
    }
    ratings_.losses(eta_);  // at the modes again
    Vector third(levels, 0.0), v(n);
    for (std::size_t i = 0; i < n; ++i) third[factor.level[i]] += ratings_.c[i] * zt[i] * zt[i] * zt[i];
    const auto A = [&](std::size_t g) { return 0.5 * (1.0 - spread[g]) * inverse[g]; };
    const auto moving = [&](std::size_t g) { return (slope[g] + A(g) * third[g]) * inverse[g]; };
    for (std::size_t i = 0; i < n; ++i) {
        half_[i] = A(factor.level[i]) * zt[i] * zt[i];
        v[i] = moving(factor.level[i]) * zt[i];
        e_[i] = half_[i] * ratings_.c[i] - ratings_.r[i];  // the losses are not wanted again
        ratings_.l_up[i] = ratings_.l_lo[i] = 0.0;
    }
    ratings_.gradient(half_, v, e_, part.data());
    for (int j = 0; j < own; ++j) gradient[j] += part[j];
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t g = factor.level[i];
        by_L += z[i] * (e_[i] * u_[g] + 2.0 * A(g) * ratings_.d[i] * zt[i] - moving(g) * ratings_.r[i]);
    }
    if (!entries_.empty()) gradient[own] = by_L;
    ratings_.losses(eta_);
    return value < std::numeric_limits<double>::infinity() ? value : std::numeric_limits<double>::infinity();
}

}  // namespace ordbridge
