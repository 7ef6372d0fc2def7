#pragma once
// Finds out whether a model minimizes the mean cross-entropy, whose exponential is the perplexity of a language model.

#include <string>

#include "core/model/model.h"

namespace mtfc {

/// The name of the loss, if the model trains on the mean of softmax_cross_entropy over all elements and nothing else;
/// otherwise "".
std::string mean_cross_entropy(const Model& model);

}  // namespace mtfc
