#include "information.hpp"

#include "dense.hpp"

namespace ordbridge {

void add_variance_information(const Design& design, const std::vector<Entry>& entries, const Cholesky& L,
                              const BlockMatrix& N, Vector& out, Vector& traces) {
    const std::size_t size = entries.size();
    for (std::size_t f = 0; f < design.factors.size(); ++f) {
        const int q = design.factors[f].size;
        std::vector<std::size_t> free;
        for (std::size_t k = 0; k < size; ++k)
            if (entries[k].factor == static_cast<int>(f)) free.push_back(k);
        Vector inverse(q * q);
        dense::invert_lower(L[f].data(), q, inverse.data());
        // in the coordinates of u: L'P L = I - N and dT = L^-1 dS L'^-1 = L^-1 dL + (L^-1 dL)', dL a single entry
        Vector dT(free.size() * q * q, 0.0), PdT(dT.size());
        for (std::size_t j = 0; j < free.size(); ++j) {
            const Entry& entry = entries[free[j]];
            double* T = &dT[j * q * q];
            for (int a = 0; a < q; ++a) {
                T[a * q + entry.column] += inverse[a * q + entry.row];
                T[entry.column * q + a] += inverse[a * q + entry.row];
            }
        }
        for (int g = 0; g < design.factors[f].levels; ++g) {
            const double* n = &N.own[f][static_cast<std::size_t>(g) * q * q];
            for (std::size_t j = 0; j < free.size(); ++j) {
                const double* T = &dT[j * q * q];
                double* P = &PdT[j * q * q];
                for (int a = 0; a < q; ++a)
                    for (int b = 0; b < q; ++b) {
                        double total = T[a * q + b];
                        for (int c = 0; c < q; ++c) total -= n[a * q + c] * T[c * q + b];
                        P[a * q + b] = total;
                    }
                for (int a = 0; a < q; ++a) traces[free[j]] += P[a * q + a];
            }
            for (std::size_t i = 0; i < free.size(); ++i)
                for (std::size_t j = 0; j <= i; ++j) {
                    double total = 0.0;
                    for (int a = 0; a < q; ++a)
                        for (int b = 0; b < q; ++b) total += PdT[(i * q + a) * q + b] * PdT[(j * q + b) * q + a];
                    out[free[i] * size + free[j]] += 0.5 * total;
                }
        }
        for (std::size_t i = 0; i < free.size(); ++i)
            for (std::size_t j = 0; j < i; ++j) out[free[j] * size + free[i]] = out[free[i] * size + free[j]];
    }
}

}  // namespace ordbridge
