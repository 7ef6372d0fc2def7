#pragma once
// `decode`: one step of generation as a graph of its own, of the same blocks as the model and on its
// variables.
//
//   "decode": {"inputs": {"token": …, "position": …, "seen": …}, "variables": caches, "ops": […],
//              "outputs": {"logits": NAME}}

#include "formats/json/cursor.h"
#include "formats/model/model_draft.h"

namespace mtfc {

/// Into `draft.model.decode`. The model's own graph has been read without errors.
void read_decode(const Cursor& at, ModelDraft& draft);

}  // namespace mtfc
