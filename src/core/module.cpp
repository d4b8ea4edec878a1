// The Python module ordbridge._core. Everything from outside is checked before it is used; what does not fit raises
// ValueError with the reason.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <optional>
#include <stdexcept>

#include "clm.hpp"
#include "dense.hpp"
#include "deviance.hpp"
#include "laplace.hpp"
#include "pairs.hpp"
#include "tied.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace ordbridge;

namespace {

using Doubles = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Integers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Array = nb::ndarray<nb::numpy, double>;

template <class A>
Vector vector(const A& array) {
    return Vector(array.data(), array.data() + array.size());
}

std::vector<std::int64_t> integers(const Integers& array) { return {array.data(), array.data() + array.size()}; }

// A numpy array of its own with these numbers.
Array numpy(const double* from, std::initializer_list<std::size_t> shape) {
    std::size_t size = 1;
    for (std::size_t length : shape) size *= length;
    double* data = new double[size ? size : 1];
    std::copy_n(from, size, data);
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<double*>(p); });
    return Array(data, shape.size(), shape.begin(), owner);
}

Array numpy(const Vector& from) { return numpy(from.data(), {from.size()}); }

Link link_of(int code) {
    if (code < 0 || code > static_cast<int>(Link::cauchit)) throw std::invalid_argument("there is no such link");
    return static_cast<Link>(code);
}

int count(std::size_t size) {
    if (size > 1000000) throw std::invalid_argument("there are too many columns");
    return static_cast<int>(size);
}

// Everything about the rows; what is not given is not in the model.
RatingData rating_data(int link, const Integers& y, const Matrix& X, const Matrix& jacobian, const std::optional<Matrix>& nominal,
                       const std::optional<Matrix>& scale, const std::optional<Doubles>& weights,
                       const std::optional<Doubles>& offset) {
    if (X.shape(0) != y.size()) throw std::invalid_argument("y and X have different numbers of rows");
    RatingData data{link_of(link), integers(y), vector(X), count(X.shape(1)), vector(jacobian), count(jacobian.shape(1)),
                    count(jacobian.shape(0)), {}, 0, {}, 0, {}, {}};
    if (nominal) data.nominal = vector(*nominal), data.nominals = count(nominal->shape(1));
    if (scale) data.scale = vector(*scale), data.scales = count(scale->shape(1));
    if (weights) data.weights = vector(*weights);
    if (offset) data.offset = vector(*offset);
    return data;
}

Patience patience(std::optional<double> seconds) {
    return Patience(seconds.value_or(1e300), [] {
        nb::gil_scoped_acquire held;
        if (PyErr_CheckSignals()) throw nb::python_error();
    });
}

// Per factor: levels × size of a vector over all effects, levels × size × size of the blocks of a matrix.
nb::list effects(const Design& design, const Vector& x) {
    nb::list out;
    for (const Factor& f : design.factors)
        out.append(numpy(f.of(x, 0), {static_cast<std::size_t>(f.levels), static_cast<std::size_t>(f.size)}));
    return out;
}

nb::list blocks(const Design& design, const BlockMatrix& N) {
    nb::list out;
    for (std::size_t f = 0; f < design.factors.size(); ++f) {
        const std::size_t q = design.factors[f].size;
        out.append(numpy(N.own[f].data(), {static_cast<std::size_t>(design.factors[f].levels), q, q}));
    }
    return out;
}

// Per factor, levels × size: the modes L u, and their standard deviations, the roots of the diagonals of L N L'.
nb::list conditional(const Design& design, const Cholesky& L, const Vector& u, const BlockMatrix& N) {
    nb::list out;
    for (std::size_t f = 0; f < L.size(); ++f) {
        const Factor& factor = design.factors[f];
        const int q = factor.size;
        const std::size_t shape[] = {static_cast<std::size_t>(factor.levels), static_cast<std::size_t>(q)};
        Vector modes(shape[0] * shape[1]), sd(modes.size());
        for (std::size_t g = 0; g < shape[0]; ++g) {
            const double* block = &N.own[f][g * q * q];
            for (int a = 0; a < q; ++a) {
                double mode = 0.0, variance = 0.0;
                for (int b = 0; b <= a; ++b) {
                    mode += L[f][a * q + b] * factor.of(u, static_cast<int>(g))[b];
                    for (int c = 0; c <= a; ++c) variance += L[f][a * q + b] * block[b * q + c] * L[f][a * q + c];
                }
                modes[g * q + a] = mode;
                sd[g * q + a] = std::sqrt(std::max(variance, 0.0));
            }
        }
        out.append(nb::make_tuple(numpy(modes.data(), {shape[0], shape[1]}), numpy(sd.data(), {shape[0], shape[1]})));
    }
    return out;
}

nb::tuple answer(const Minimum& found) {
    return nb::make_tuple(numpy(found.x), found.value, numpy(found.gradient), found.evaluations, found.converged);
}

template <class Objective>
nb::tuple minimum(Objective& objective, const Doubles& x, double gain, const std::optional<Matrix>& inverse, int iterations,
                  std::optional<double> seconds) {
    const Vector start = vector(x);
    Vector guess;
    if (inverse) {
        guess = vector(*inverse);
        if (guess.size() != start.size() * start.size()) throw std::invalid_argument("the inverse Hessian has the wrong size");
    }
    Minimum found;
    {
        nb::gil_scoped_release released;
        Patience left = patience(seconds);
        found = minimise(objective, start, gain, inverse ? &guess : nullptr, iterations, left);
    }
    const std::size_t n = start.size();
    return nb::make_tuple(numpy(found.x), found.value, numpy(found.gradient), found.evaluations, found.converged,
                          numpy(found.inverse.data(), {n, n}));
}

template <class Objective>
nb::tuple evaluation(Objective& objective, const Doubles& x) {
    const Vector at = vector(x);
    Vector gradient;
    double value;
    {
        nb::gil_scoped_release released;
        value = objective.evaluate(at, gradient);
    }
    return nb::make_tuple(value, numpy(gradient));
}

// An elimination on its own, with everything that it needs.
struct Factored {
    Factored(std::shared_ptr<const Design> design_, const Cholesky& L, const Vector& d)
        : design(std::move(design_)), elimination(make_elimination(*design)), N(*design) {
        std::vector<Vector> zt;
        std::vector<const double*> rows;
        for (std::size_t f = 0; f < L.size(); ++f) {
            zt.emplace_back(design->factors[f].z.size());
            transposed_times(L[f].data(), design->factors[f].size, design->factors[f].z.data(), design->n, zt[f].data());
        }
        for (const Vector& own : zt) rows.push_back(own.data());
        BlockMatrix M(*design);
        cross_products(*design, rows, d.data(), M);
        elimination->set(L);
        log_determinant = elimination->factorise(M);
    }
    std::shared_ptr<const Design> design;
    std::unique_ptr<Elimination> elimination;
    BlockMatrix N;
    double log_determinant;
};

// The cells of cross tables, checked: pairs in order, categories below q.
Cells cells(const Integers& start, const Integers& x, const Integers& y, const Doubles& count, std::int64_t q) {
    Cells found{integers(start), integers(x), integers(y), vector(count)};
    const auto size = static_cast<std::int64_t>(found.x.size());
    if (found.start.empty() || found.start.front() != 0 || found.start.back() != size)
        throw std::invalid_argument("start must run from 0 to the number of cells");
    for (std::size_t p = 0; p + 1 < found.start.size(); ++p)
        if (found.start[p] > found.start[p + 1]) throw std::invalid_argument("start must not decrease");
    if (found.y.size() != found.x.size() || found.count.size() != found.x.size())
        throw std::invalid_argument("x, y and count must have the same length");
    for (std::size_t i = 0; i < found.x.size(); ++i)
        if (found.x[i] < 0 || found.x[i] >= q || found.y[i] < 0 || found.y[i] >= q)
            throw std::invalid_argument("a category is out of range");
    return found;
}

constexpr std::int64_t ANY = std::numeric_limits<std::int64_t>::max();

}  // namespace

NB_MODULE(_core, m) {
    // The designs of the last few formulas are kept (model_frame.py), so some are alive when a process ends without clearing
    // its modules, as workers do: that is no leak, and nanobind's list of them would only worry people.
    nb::set_leak_warnings(false);
    m.doc() = "The inner loops of the fast engine and of pairs of raters, compiled; their callers say what they are for.";
    nb::exception<OutOfTime>(m, "OutOfTime");

    nb::class_<TiedSolver>(m, "TiedSolver", "Signed random effects of paired comparisons; see tied.hpp.")
        .def(
            "__init__",
            [](TiedSolver* self, const Integers& block, const Integers& plus, const Integers& minus, const Integers& rest_column,
               const Doubles& rest_value, std::int64_t own, std::int64_t rest, std::int64_t random_rest) {
                const std::int64_t n = static_cast<std::int64_t>(block.size());
                if (n == 0 || rest_column.size() % block.size()) throw std::invalid_argument("rows and columns do not fit");
                if (rest > 20000) throw std::invalid_argument("the rest has too many columns");
                TiedRows rows{integers(block), integers(plus), integers(minus), integers(rest_column), vector(rest_value),
                              static_cast<std::int64_t>(rest_column.size()) / n, own, rest, random_rest};
                new (self) TiedSolver(std::move(rows));
            },
            "block"_a, "plus"_a, "minus"_a, "rest_column"_a, "rest_value"_a, "own"_a, "rest"_a, "random_rest"_a)
        .def("predictor",
             [](const TiedSolver& self, const Doubles& x, double own_scale, double rest_scale) {
                 if (static_cast<std::int64_t>(x.size()) != self.own() + self.rest()) throw std::invalid_argument("x does not fit");
                 return numpy(self.predictor(x.data(), own_scale, rest_scale));
             })
        .def("pulled",
             [](const TiedSolver& self, const Doubles& r, double own_scale, double rest_scale) {
                 if (static_cast<std::int64_t>(r.size()) != self.rows()) throw std::invalid_argument("the rows do not fit");
                 return numpy(self.pulled(r.data(), own_scale, rest_scale));
             })
        .def("factor",
             [](TiedSolver& self, const Doubles& weight, double own_scale, double rest_scale) {
                 if (static_cast<std::int64_t>(weight.size()) != self.rows()) throw std::invalid_argument("the rows do not fit");
                 nb::gil_scoped_release released;
                 return self.factor(weight.data(), own_scale, rest_scale);
             })
        .def("solve",
             [](const TiedSolver& self, const Doubles& right) {
                 if (static_cast<std::int64_t>(right.size()) != self.own() + self.rest())
                     throw std::invalid_argument("the right side does not fit");
                 return numpy(self.solve(right.data()));
             })
        .def("covariance",
             [](const TiedSolver& self, std::int64_t columns) {
                 const std::size_t k = static_cast<std::size_t>(columns);
                 const Vector found = self.covariance(columns);
                 return numpy(found.data(), {k, k});
             })
        .def("spread", [](const TiedSolver& self) {
            const Vector found = self.spread();
            return numpy(found.data(), {3, static_cast<std::size_t>(self.rows())});
        });

    m.def(
        "pair_agreement",
        [](const Integers& start, const Integers& x, const Integers& y, const Doubles& count, const Matrix& w) {
            const auto q = static_cast<std::int64_t>(w.shape(0));
            if (w.shape(1) != w.shape(0)) throw std::invalid_argument("the weights must be square");
            const PairAgreement found = pair_agreement(cells(start, x, y, count, q), vector(w), q);
            return nb::make_tuple(numpy(found.observed), numpy(found.expected), numpy(found.observed_left),
                                  numpy(found.expected_left));
        },
        "start"_a, "x"_a, "y"_a, "count"_a, "w"_a, "Cohen's observed and expected sums; see pairs.hpp.");
    m.def(
        "pair_comparisons",
        [](const Integers& start, const Integers& x, const Integers& y, const Doubles& count) {
            const Comparisons found = pair_comparisons(cells(start, x, y, count, ANY));
            return nb::make_tuple(numpy(found.concordant), numpy(found.discordant), numpy(found.tied_first),
                                  numpy(found.tied_second));
        },
        "start"_a, "x"_a, "y"_a, "count"_a, "Concordant, discordant and tied items of one item of each cell.");
    m.def(
        "pair_spearman",
        [](const Integers& start, const Integers& x, const Integers& y, const Doubles& count) {
            const Correlations found = pair_spearman(cells(start, x, y, count, ANY));
            return nb::make_tuple(numpy(found.whole), numpy(found.left));
        },
        "start"_a, "x"_a, "y"_a, "count"_a, "Spearman's rho of each pair, and without one item of each cell.");
    m.def(
        "pair_pearson",
        [](const Integers& start, const Integers& x, const Integers& y, const Doubles& count, const Doubles& points) {
            const auto q = static_cast<std::int64_t>(points.size());
            const Correlations found = pair_pearson(cells(start, x, y, count, q), vector(points));
            return nb::make_tuple(numpy(found.whole), numpy(found.left));
        },
        "start"_a, "x"_a, "y"_a, "count"_a, "points"_a, "Pearson's r of each pair, and without one item of each cell.");

    m.def(
        "interval_terms",
        [](int link, double a, double b) {
            const IntervalTerms t = interval_terms(link_of(link), a, b);
            return nb::make_tuple(t.log_pi, t.ra, t.rb, t.ga, t.gb, t.ha, t.hb);
        },
        "link"_a, "a"_a, "b"_a, "Return log pi, ra, rb, ga, gb, ha, hb of the interval (b, a]; log pi is -inf where a <= b.");

    m.def(
        "log_probabilities",
        [](int link, const Doubles& upper, const Doubles& lower) {
            if (upper.size() != lower.size()) throw std::invalid_argument("upper and lower have different numbers of rows");
            Vector out(upper.size());
            log_probabilities(link_of(link), out.size(), upper.data(), lower.data(), out.data());
            return numpy(out);
        },
        "link"_a, "upper"_a, "lower"_a, "log pi of many intervals; -inf where upper <= lower.");

    m.def(
        "row_derivatives",
        [](int link, const Doubles& upper, const Doubles& lower) {
            if (upper.size() != lower.size()) throw std::invalid_argument("upper and lower have different numbers of rows");
            const std::size_t n = upper.size();
            Vector out(10 * n);
            double* p = out.data();
            row_derivatives(link_of(link), n, upper.data(), lower.data(),
                            {p, p + n, p + 2 * n, p + 3 * n, p + 4 * n, p + 5 * n, p + 6 * n, p + 7 * n, p + 8 * n, p + 9 * n});
            return numpy(p, {10, n});
        },
        "link"_a, "upper"_a, "lower"_a,
        "Return, one in each row, log pi, r, d, c and the derivatives of loss, r and d in both cut-points.");

    m.def(
        "product",
        [](const Matrix& A, const Matrix& B) {
            if (A.shape(1) != B.shape(0)) throw std::invalid_argument("the matrices do not fit each other");
            Vector out(A.shape(0) * B.shape(1), 0.0);
            dense::add_product(1.0, dense::view(A.data(), A.shape(0), A.shape(1)), dense::view(B.data(), B.shape(0), B.shape(1)),
                               out.data(), B.shape(1));
            return numpy(out.data(), {A.shape(0), B.shape(1)});
        },
        "A"_a, "B"_a, "Return A B.");

    m.def(
        "cholesky_inverse",
        [](const Matrix& A, const Doubles& x) -> nb::object {
            const std::size_t n = A.shape(0);
            if (A.shape(1) != n || x.size() != n) throw std::invalid_argument("the matrix is not square, or x does not fit it");
            Vector L = vector(A), inverse(L.size()), solution = vector(x);
            if (!dense::cholesky(L.data(), n, n)) return nb::none();
            dense::inverse(L.data(), n, inverse.data());
            dense::solve(L.data(), n, solution.data());
            return nb::make_tuple(numpy(L.data(), {n, n}), numpy(inverse.data(), {n, n}), numpy(solution));
        },
        "A"_a, "x"_a,
        "Return the Cholesky factor of A (in the lower triangle), A^-1 and A^-1 x; None if A is not positive definite.");

    m.def(
        "components",
        [](const std::vector<Integers>& level) {
            std::vector<std::vector<std::int64_t>> levels;
            for (const Integers& factor : level) levels.push_back(integers(factor));
            const std::vector<std::int64_t> found = components_of_rows(levels);
            auto* data = new std::int64_t[found.size() + 1];
            std::copy(found.begin(), found.end(), data);
            nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<std::int64_t*>(p); });
            const std::size_t shape[] = {found.size()};
            return nb::ndarray<nb::numpy, std::int64_t>(data, 1, shape, owner);
        },
        "level"_a, "Number the connected component of every row, given each row's level of every grouping factor.");

    m.def(
        "fit_clm",
        [](int link, const Integers& y, const Matrix& X, const Matrix& jacobian, const Doubles& start,
           const std::optional<Matrix>& nominal, const std::optional<Matrix>& scale, const std::optional<Doubles>& weights,
           const std::optional<Doubles>& offset) {
            const RatingData data = rating_data(link, y, X, jacobian, nominal, scale, weights, offset);
            const Vector first = vector(start);
            ClmFit fit;
            {
                nb::gil_scoped_release released;
                fit = fit_clm(data, first);
            }
            const std::size_t size = fit.parameters.size();
            return nb::make_tuple(numpy(fit.parameters), numpy(fit.hessian.data(), {size, size}), numpy(fit.gradient), fit.loss,
                                  fit.iterations, fit.converged);
        },
        "link"_a, "y"_a, "X"_a, "jacobian"_a, "start"_a, "nominal"_a = nb::none(), "scale"_a = nb::none(),
        "weights"_a = nb::none(), "offset"_a = nb::none(),
        "Fit a cumulative link model: parameters, Hessian, gradient, -log likelihood, iterations, whether converged.");

    nb::class_<Design>(m, "Design", "Sorted rows with the levels of every grouping factor, and where these meet.")
        .def(
            "__init__",
            [](Design* self, const std::vector<Integers>& level, const std::vector<Matrix>& z,
               const std::vector<Integers>& component) {
                std::vector<std::vector<std::int64_t>> levels, components;
                std::vector<Vector> columns;
                std::vector<int> sizes;
                for (const Integers& factor : level) levels.push_back(integers(factor));
                for (const Integers& factor : component) components.push_back(integers(factor));
                for (const Matrix& factor : z) {
                    columns.push_back(vector(factor));
                    sizes.push_back(count(factor.shape(1)));
                }
                new (self) Design(make_design(levels, columns, sizes, components));
            },
            "level"_a, "z"_a, "component"_a)
        .def_rw("one_by_one", &Design::one_by_one, "Whether levels are eliminated one by one even where that is slower.")
        .def_prop_ro("effects", [](const Design& self) { return self.effects; }, "Number of random effects.");

    nb::class_<Factored>(m, "Elimination", "H = I + Z~'D Z~ in factored form, with Z~ = Z L.")
        .def(
            "__init__",
            [](Factored* self, std::shared_ptr<Design> design, const std::vector<Matrix>& L, const Doubles& d) {
                Cholesky factors = new_cholesky(*design);
                if (L.size() != factors.size() || static_cast<int>(d.size()) != design->n)
                    throw std::invalid_argument("L or d does not fit the design");
                for (std::size_t f = 0; f < factors.size(); ++f) {
                    if (L[f].size() != factors[f].size()) throw std::invalid_argument("L does not fit the design");
                    factors[f] = vector(L[f]);
                }
                new (self) Factored(design, factors, vector(d));
            },
            "design"_a, "L"_a, "d"_a)
        .def_ro("log_determinant", &Factored::log_determinant)
        .def(
            "solve",
            [](const Factored& self, const Doubles& x) {
                Vector solution = vector(x);
                if (static_cast<int>(solution.size()) != self.design->effects)
                    throw std::invalid_argument("there must be a number for every random effect");
                self.elimination->solve(solution);
                return numpy(solution);
            },
            "x"_a, "Return H^-1 x.")
        .def(
            "inverse_blocks",
            [](Factored& self, bool diagonal) {
                if (diagonal)
                    self.elimination->diagonal_inverse(self.N);
                else
                    self.elimination->selected_inverse(self.N);
                nb::list cross;
                for (std::size_t k = 0; k < self.design->pairs.size(); ++k) {
                    const Pairs& pairs = self.design->pairs[k];
                    cross.append(nb::make_tuple(
                        pairs.first, pairs.second, pairs.level, pairs.partner,
                        numpy(self.N.cross[k].data(), {static_cast<std::size_t>(pairs.count()),
                                                       static_cast<std::size_t>(self.design->factors[pairs.first].size),
                                                       static_cast<std::size_t>(self.design->factors[pairs.second].size)})));
                }
                return nb::make_tuple(blocks(*self.design, self.N), cross);
            },
            "diagonal"_a = false,
            "Return the blocks of H^-1 of all levels, per factor, and of all pairs: factors, levels, blocks.");

    nb::class_<Ratings>(m, "Ratings", "The likelihood of a cumulative link model.")
        .def(
            "__init__",
            [](Ratings* self, int link, const Integers& y, const Matrix& X, const Matrix& jacobian,
               const std::optional<Matrix>& nominal, const std::optional<Matrix>& scale,
               const std::optional<Doubles>& weights, const std::optional<Doubles>& offset) {
                new (self) Ratings(rating_data(link, y, X, jacobian, nominal, scale, weights, offset));
            },
            "link"_a, "y"_a, "X"_a, "jacobian"_a, "nominal"_a = nb::none(), "scale"_a = nb::none(), "weights"_a = nb::none(),
            "offset"_a = nb::none())
        .def(
            "__call__",
            [](Ratings& self, const Doubles& x) {
                if (static_cast<int>(x.size()) != self.parameters())
                    throw std::invalid_argument("the number of parameters is wrong");
                Vector gradient(x.size(), std::numeric_limits<double>::quiet_NaN());
                double value = std::numeric_limits<double>::infinity();
                if (self.set(x.data())) value = self.losses(self.fixed());
                if (value < std::numeric_limits<double>::infinity()) {
                    const Vector none(self.rows(), 0.0);
                    Vector e(none);
                    self.gradient(none, none, e, gradient.data());
                }
                return nb::make_tuple(value, numpy(gradient));
            },
            "x"_a, "Return -log likelihood and gradient; an infinite value where there is none.");

    nb::class_<Laplace>(m, "Laplace", "The Laplace approximation to the likelihood of a cumulative link mixed model.")
        .def(
            "__init__",
            [](Laplace* self, std::shared_ptr<Design> design, int link, const Integers& y, const Matrix& X,
               const Matrix& jacobian, const Integers& factor, const Integers& row, const Integers& column,
               const std::optional<Matrix>& nominal, const std::optional<Matrix>& scale,
               const std::optional<Doubles>& weights, const std::optional<Doubles>& offset) {
                auto entries = make_entries(*design, integers(factor), integers(row), integers(column));
                const RatingData data = rating_data(link, y, X, jacobian, nominal, scale, weights, offset);
                new (self) Laplace(design, data, std::move(entries));
            },
            "design"_a, "link"_a, "y"_a, "X"_a, "jacobian"_a, "factor"_a, "row"_a, "column"_a, "nominal"_a = nb::none(),
            "scale"_a = nb::none(), "weights"_a = nb::none(), "offset"_a = nb::none())
        .def("__call__", &evaluation<Laplace>, "x"_a, "Return -log likelihood and gradient; an infinite value where there is none.")
        .def("set_quadrature",
             [](Laplace& self, const Doubles& nodes, const Doubles& weights) { self.set_quadrature(vector(nodes), vector(weights)); },
             "nodes"_a, "weights"_a, "Integrate by adaptive Gauss-Hermite quadrature instead of Laplace's approximation.")
        .def_rw("closeness", &Laplace::closeness, "How closely modes are found: to its square.")
        .def_ro("evaluations", &Laplace::evaluations)
        .def("minimise", &minimum<Laplace>, "x"_a, "gain"_a, "inverse"_a = nb::none(), "iterations"_a = 300,
             "seconds"_a = nb::none(), "Return x, value, gradient, evaluations and whether the search converged.")
        .def(
            "hessian",
            [](Laplace& self, const Doubles& x, const Integers& free, double difference, std::optional<double> seconds) {
                std::vector<int> positions;
                for (std::size_t i = 0; i < free.size(); ++i) {
                    if (free.data()[i] < 0 || free.data()[i] >= self.parameters())
                        throw std::invalid_argument("there is no such parameter");
                    positions.push_back(static_cast<int>(free.data()[i]));
                }
                const Vector at = vector(x);
                Vector found;
                {
                    nb::gil_scoped_release released;
                    Patience left = patience(seconds);
                    found = self.hessian(at, positions, difference, left);
                }
                return numpy(found.data(), {positions.size(), positions.size()});
            },
            "x"_a, "free"_a, "difference"_a, "seconds"_a = nb::none(),
            "The Hessian in the free parameters, exact where that takes less than differences of the exact gradient.")
        .def(
            "tangent",
            [](Laplace& self, const Doubles& direction) {
                const Vector along = vector(direction);
                if (static_cast<int>(along.size()) != self.parameters())
                    throw std::invalid_argument("the number of parameters is wrong");
                return numpy(self.tangent(along));
            },
            "direction"_a, "Change of the modes per unit step along a direction, from the last evaluation.")
        .def(
            "information",
            [](Laplace& self) {
                const std::size_t size = self.parameters();
                return numpy(self.information().data(), {size, size});
            },
            "Approximate Hessian at the last evaluation.")
        .def_prop_rw("modes", [](const Laplace& self) { return numpy(self.modes()); },
                     [](Laplace& self, const Doubles& u) { self.set_modes(vector(u)); }, nb::rv_policy::move, "The modes of all random effects, standardised.")
        .def(
            "log_weights",
            [](Laplace& self, const Matrix& normals) {
                if (normals.shape(1) != static_cast<std::size_t>(self.design().effects))
                    throw std::invalid_argument("there must be a number for every effect");
                const Vector numbers = vector(normals);
                Vector found;
                {
                    nb::gil_scoped_release released;
                    found = self.log_weights(numbers);
                }
                return numpy(found.data(), {normals.shape(0), static_cast<std::size_t>(self.design().components())});
            },
            "normals"_a,
            "For rows of standard normal numbers, log weights of importance sampling around the modes; a column for each component.")
        .def("effects", [](const Laplace& self) { return effects(self.design(), self.modes()); }, "The modes, per factor levels × size.")
        .def("conditional",
             [](const Laplace& self) { return conditional(self.design(), self.cholesky(), self.modes(), self.inverse()); },
             "Modes of the random effects and their standard deviations at the last evaluation, per factor levels × size.");

    nb::class_<Deviance>(m, "Deviance", "The profiled deviance of a linear mixed model.")
        .def(
            "__init__",
            [](Deviance* self, std::shared_ptr<Design> design, const Matrix& columns, const Integers& factor, const Integers& row,
               const Integers& column, bool reml) {
                auto entries = make_entries(*design, integers(factor), integers(row), integers(column));
                if (columns.shape(0) != static_cast<std::size_t>(design->n))
                    throw std::invalid_argument("X and y do not have the design's rows");
                new (self) Deviance(design, vector(columns), count(columns.shape(1)), std::move(entries), reml);
            },
            "design"_a, "columns"_a, "factor"_a, "row"_a, "column"_a, "reml"_a)
        .def("__call__", &evaluation<Deviance>, "x"_a, "Return half the deviance and its gradient; an infinite value where there is none.")
        .def_ro("evaluations", &Deviance::evaluations)
        .def("minimise", &minimum<Deviance>, "x"_a, "gain"_a, "inverse"_a = nb::none(), "iterations"_a = 300,
             "seconds"_a = nb::none(), "Return x, value, gradient, evaluations and whether the search converged.")
        .def(
            "newton",
            [](Deviance& self, const Doubles& x, double gain, int iterations, std::optional<double> seconds) {
                const Vector start = vector(x);
                Minimum found;
                {
                    nb::gil_scoped_release released;
                    Patience left = patience(seconds);
                    found = newton(self, start, gain, iterations, left);
                }
                return answer(found);
            },
            "x"_a, "gain"_a, "iterations"_a = 100, "seconds"_a = nb::none(),
            "The same by Newton's method.")
        .def(
            "second_derivatives",
            [](Deviance& self) {
                Deviance::SecondDerivatives found;
                {
                    nb::gil_scoped_release released;
                    found = self.second_derivatives();
                }
                const std::size_t k = self.entries() + 1, p = self.columns();
                return nb::make_tuple(numpy(found.hessian.data(), {k, k}), numpy(found.jacobian.data(), {k, p, p}));
            },
            "Hessian of the deviance and Jacobian of sigma^2 A^-1 at the last evaluation, in (entries, sigma).")
        .def(
            "curvature",
            [](Deviance& self) {
                const std::size_t k = self.entries();
                Vector found;
                {
                    nb::gil_scoped_release released;
                    found = self.curvature();
                }
                return numpy(found.data(), {k, k});
            },
            "Hessian of half the deviance in the entries at the last evaluation, sigma at its best for any of them.")
        .def_prop_ro("sigma", &Deviance::sigma)
        .def_prop_ro("gamma", [](const Deviance& self) { return numpy(self.gamma()); }, nb::rv_policy::move)
        .def(
            "inference",
            [](Deviance& self, const Matrix& R) {
                const std::size_t p = self.columns();
                if (R.shape(0) != p || R.shape(1) != p) throw std::invalid_argument("R does not have the columns of X");
                const Vector columns = vector(R);
                Deviance::Inference found;
                {
                    nb::gil_scoped_release released;
                    found = self.inference(columns);
                }
                return nb::make_tuple(numpy(found.vcov.data(), {p, p}), numpy(found.df));
            },
            "R"_a, "Covariance of the coefficients of X R, and Satterthwaite's degrees of freedom, at the last evaluation.")
        .def("conditional",
             [](const Deviance& self) { return conditional(self.design(), self.cholesky(), self.modes(), self.inverse()); },
             "Modes of the random effects and their standard deviations, relative to sigma, per factor levels × size.");
}
