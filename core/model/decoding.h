#pragma once
// Properties of a model with `decode` that generation needs, and the reduction of a model to what it needs.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/model/model.h"

namespace mtfc {

/// The number of positions, from 0 on, for which there is room: in every cache that is written at the
/// position or at a place counted from it, and in every table that is read at it. INT64_MAX if nothing
/// depends on the position.
int64_t decode_positions(const DecodeSpec& decode);

/// The type of its token.
const TensorType& token_type(const DecodeSpec& decode);

/// Returns whether the time of a step may grow with the size of `places`, the dimension of the places of caches: if
/// floats along it are read by an operation other than `attention`, which reads what is seen, and `update_slice`, which
/// writes a row.
bool reads_all_places(const DecodeSpec& decode, std::string_view places);

/// The inputs of the model that are needed to compute the tensors that caches hold: those of the entry point
/// `encode`.
std::vector<InputDecl> encode_inputs(const Model& model);

/// The dimension of the model's tokens that counts positions, if the entry point `prompt` can read prompts at once.
/// Otherwise nothing, and `why` is a clause that gives the reason.
std::optional<Dim> prompt_positions(const Model& model, std::string& why);

/// Returns whether two models that prompt_positions() accepts compute the same for a prompt, one at `many` positions
/// and the other at `few`: their graphs, reduced to what a prompt needs, have the same variables and operations. The
/// sizes of operations may differ, but only where they are `many` in one and `few` in the other. A model may compute
/// with the number of positions as well.
bool differ_in_length_alone(const Model& longer, const Model& shorter, int64_t many, int64_t few);

/// The model without everything that only training and evaluation run: its variables, its `decode` and what the
/// caches hold. The rest then takes no memory, and no layout is refused because of it.
Model only_decode(Model model);
/// The same for the entry point `prompt`, of a model that prompt_positions() accepts.
Model only_prompt(Model model);

}  // namespace mtfc
