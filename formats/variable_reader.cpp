#include "formats/variable_reader.h"

#include <fmt/format.h>

#include <utility>

#include "formats/init_reader.h"
#include "formats/type_reader.h"

namespace mtfc {
namespace {

// Only a float has a gradient: other variables are not trained unless that was asked for, which is an error.
bool read_trainable(const Cursor& at, DType dtype) {
  const std::optional<Cursor> trainable = at.find("trainable");
  if (!trainable) return is_float(dtype);
  const bool wanted = trainable->flag().value_or(false);
  if (wanted && !is_float(dtype))
    trainable->error(fmt::format("a variable of type {} can't be trained", to_string(dtype)));
  return wanted;
}

}  // namespace

void read_variable(const NamedCursor& variable, ModelDraft& draft) {
  const Cursor& at = variable.value;
  const std::optional<bool> chosen = is_chosen(at, draft);
  if (chosen == false) return draft.symbols.note_removed(variable.key);
  if (draft.later_rounds > 0) return;
  const bool is_new = draft.symbols.define(variable.key, SymbolKind::kVariable, variable.key_location);
  if (!at.check_keys({"dims", "dtype", "init", "trainable", "when", "doc"}, {"sharding"})) return;
  std::optional<TensorType> type = read_tensor_type(at, draft.names());
  if (!type) return;
  type->dtype = draft.builder.widened(type->dtype);
  VariableDecl decl;
  decl.name = draft.symbols.full_variable(variable.key);
  decl.type = *type;
  decl.location = variable.key_location;
  if (const auto init = at.find("init")) decl.init = read_init(*init, *type, draft.names());
  decl.trainable = read_trainable(at, type->dtype);
  if (!is_new) return;
  GraphBuilder& builder = draft.outermost();
  builder.set_origin({decl.name, at.location(), Phase::kForward});
  const TensorId tensor = builder.add_variable(decl.name, *type);
  builder.mark_from_model(tensor);
  draft.symbols.bind(variable.key, tensor);
  draft.model.variables.push_back(std::move(decl));
}

}  // namespace mtfc
