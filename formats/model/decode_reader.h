#pragma once
// `decode`: one step of generation as a graph of its own, made of the model's blocks and sharing its
// variables.
//
//   "decode": {"inputs": {"token": …, "position": …, "seen": …}, "variables": caches, "ops": […],
//              "outputs": {"logits": NAME}}

#include "formats/json/cursor.h"
#include "formats/model/model_draft.h"

namespace mtfc {

/// Reads it into `draft.model.decode`. The model's own graph must have been read without errors.
void read_decode(const Cursor& at, ModelDraft& draft);

}  // namespace mtfc
