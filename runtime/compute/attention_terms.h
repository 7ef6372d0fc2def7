#pragma once
// The terms that attention and its gradients add up, by which `mtfc verify` knows what rounding can make of their
// results.
//
// A score that is rounded changes its weight by as much again, relative to the weight. The terms of the score
// therefore count as terms of each product that the weight is in:
//
//   s = q k = 3 * 2 - 5 * 1 = 1     terms of s: 11
//   weight p of a value v = 10      terms of p v: p * 10 * (1 + 11 + …)

#include "runtime/compute/kernel.h"

namespace mtfc {

/// KernelDef::terms of these operations.
std::vector<AddedTerms> attention_terms(const KernelSite& site, const KernelRun& values,
                                        const KernelRun& sizes);
std::vector<AddedTerms> attention_gradient_terms(const KernelSite& site, const KernelRun& values,
                                                 const KernelRun& sizes);
std::vector<AddedTerms> attention_bias_gradient_terms(const KernelSite& site, const KernelRun& values,
                                                      const KernelRun& sizes);

}  // namespace mtfc
