// Comparisons of two systems, and ratings of the same systems, with one variance per rater:system and item:system, for
// TMB, which differentiates the model automatically and integrates the random effects out by Laplace's approximation:
// an independent implementation to compare with. preference_tmb.R runs it.
#include <TMB.hpp>

template <class Type>
Type below(Type x, int link) {
    return link == 0 ? invlogit(x) : pnorm(x);
}

template <class Type>
Type objective_function<Type>::operator()() {
    DATA_IVECTOR(y);  // of comparisons: from 0 (the second is much better)
    DATA_IVECTOR(a);
    DATA_IVECTOR(b);
    DATA_IVECTOR(rater);
    DATA_IVECTOR(item);
    DATA_INTEGER(categories);
    DATA_IVECTOR(rating);  // from 0; may be empty
    DATA_IVECTOR(rated);
    DATA_IVECTOR(rated_by);
    DATA_IVECTOR(rated_item);
    DATA_INTEGER(link);
    PARAMETER_VECTOR(spacing);     // log distances of the upper thresholds of comparisons
    PARAMETER_VECTOR(thresholds);  // of ratings
    PARAMETER_VECTOR(beta);        // systems but the first
    PARAMETER(position);
    PARAMETER_VECTOR(log_sd);      // rater:system, item:system
    PARAMETER_VECTOR(log_sd_own);  // rater, item: of ratings only
    PARAMETER_MATRIX(u);           // raters × systems
    PARAMETER_MATRIX(v);           // items × systems
    PARAMETER_VECTOR(s);
    PARAMETER_VECTOR(t);
    const int upper = spacing.size();
    vector<Type> cut(categories - 1);
    Type edge = 0;
    for (int k = 0; k < upper; ++k) {
        edge += exp(spacing(k));
        cut((categories - 1) / 2 + (categories % 2 == 0) + k) = edge;
        cut((categories - 1) / 2 - 1 - k) = -edge;
    }
    if (categories % 2 == 0) cut((categories - 1) / 2) = Type(0);
    const auto strength = [&](int system, int r, int i) {
        Type own = system ? beta(system - 1) : Type(0);
        if (r >= 0) own += exp(log_sd(0)) * u(r, system);
        if (i >= 0) own += exp(log_sd(1)) * v(i, system);
        return own;
    };
    Type loss = -dnorm(u.vec(), Type(0), Type(1), true).sum() - dnorm(v.vec(), Type(0), Type(1), true).sum();
    loss -= dnorm(s, Type(0), Type(1), true).sum() + dnorm(t, Type(0), Type(1), true).sum();
    for (int n = 0; n < y.size(); ++n) {
        const Type eta = strength(a(n), rater(n), item(n)) - strength(b(n), rater(n), item(n)) + position;
        const Type high = y(n) == categories - 1 ? Type(1) : below(Type(cut(y(n)) - eta), link);
        const Type low = y(n) == 0 ? Type(0) : below(Type(cut(y(n) - 1) - eta), link);
        loss -= log(high - low);
    }
    for (int n = 0; n < rating.size(); ++n) {
        Type eta = strength(rated(n), rated_by(n), rated_item(n));
        if (rated_by(n) >= 0) eta += exp(log_sd_own(0)) * s(rated_by(n));
        if (rated_item(n) >= 0) eta += exp(log_sd_own(1)) * t(rated_item(n));
        const Type high = rating(n) == thresholds.size() ? Type(1) : below(Type(thresholds(rating(n)) - eta), link);
        const Type low = rating(n) == 0 ? Type(0) : below(Type(thresholds(rating(n) - 1) - eta), link);
        loss -= log(high - low);
    }
    return loss;
}
