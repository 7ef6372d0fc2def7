#pragma once
// Warnings of texts and tokens that a model would train on without an error, but learn nothing from.

#include <string>
#include <vector>

#include "core/program/program.h"
#include "core/tensors/data.h"

namespace mtfc {

/// One line for each, or "":
/// - the bytes of a text choose among more than 256 entries, so the text lacks a tokenizer;
/// - two inputs get the same tokens, or one a token of the other's windows, so that targets are what the model reads,
///   and not what follows. The hint has the shift that gives what follows.
std::string token_warnings(const EntryPoint& entry, const std::vector<InputData>& inputs);

/// Throws UserError if tokens of a text are beyond the dimension that they choose from.
void require_vocabulary(const EntryPoint& entry, const std::vector<InputData>& inputs);

}  // namespace mtfc
