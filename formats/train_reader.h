#pragma once
// `train`: the loss, the optimizer with its settings, and what goes for all updates.

#include <optional>
#include <string>

#include "core/model.h"
#include "formats/cursor.h"
#include "formats/model_draft.h"

namespace mtfc {

/// Records errors and returns nothing where there were any. All operations have been read. `replacement`: a
/// kind of optimizer in place of the file's, with settings of its own and the file's lr.
std::optional<TrainSpec> read_train(const Cursor& at, const std::optional<std::string>& replacement,
                                    ModelDraft& draft);

}  // namespace mtfc
