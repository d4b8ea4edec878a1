// A cumulative link mixed model with nominal and scale effects, weights and an offset, for TMB, which differentiates it
// automatically and integrates the random effects out by Laplace's approximation: an independent implementation to compare with.
#include <TMB.hpp>

template <class Type>
Type distribution(Type x, int link) {
    return link == 0 ? pnorm(x) : Type(1) / (Type(1) + exp(-x));
}

template <class Type>
Type objective_function<Type>::operator()() {
    DATA_IVECTOR(y);  // from 0
    DATA_MATRIX(X);
    DATA_MATRIX(nominal);
    DATA_MATRIX(scale);
    DATA_MATRIX(Z);  // the same for both grouping factors
    DATA_VECTOR(weight);
    DATA_VECTOR(offset);
    DATA_IVECTOR(g);  // from 0
    DATA_IVECTOR(h);
    DATA_INTEGER(link);
    PARAMETER_MATRIX(alpha);  // cut-points × (1 + nominal columns)
    PARAMETER_VECTOR(beta);
    PARAMETER_VECTOR(zeta);
    PARAMETER_VECTOR(Lg);  // lower triangles of the Cholesky factors, row by row
    PARAMETER_VECTOR(Lh);
    PARAMETER_MATRIX(u);  // levels × columns of Z, standard normal
    PARAMETER_MATRIX(v);
    const int n = y.size(), q = Z.cols(), cuts = alpha.rows();
    Type loss = -dnorm(u.vec(), Type(0), Type(1), true).sum() - dnorm(v.vec(), Type(0), Type(1), true).sum();
    for (int i = 0; i < n; ++i) {
        Type eta = offset(i), spread = 0;
        for (int j = 0; j < X.cols(); ++j) eta += X(i, j) * beta(j);
        for (int j = 0; j < scale.cols(); ++j) spread += scale(i, j) * zeta(j);
        for (int a = 0, k = 0; a < q; ++a)
            for (int b = 0; b <= a; ++b, ++k) eta += Z(i, a) * (Lg(k) * u(g(i), b) + Lh(k) * v(h(i), b));
        const auto below = [&](int cut) {
            Type theta = alpha(cut, 0);
            for (int m = 0; m < nominal.cols(); ++m) theta += nominal(i, m) * alpha(cut, m + 1);
            return distribution((theta - eta) / exp(spread), link);
        };
        const Type upper = y(i) == cuts ? Type(1) : below(y(i)), lower = y(i) == 0 ? Type(0) : below(y(i) - 1);
        loss -= weight(i) * log(upper - lower);
    }
    return loss;
}
