#include "core/graph/op_registry.h"

#include <algorithm>

#include "core/diagnostics/error.h"

namespace mtfc {

#define MTFC_ENTRY(name)    \
  namespace name##_op {     \
    extern const OpDef kOp; \
  }
#include "op_list.inc"
#undef MTFC_ENTRY
#define MTFC_ENTRY(name)                  \
  namespace name##_ops {                  \
    extern const std::vector<OpDef> kOps; \
  }
#include "op_table_list.inc"
#undef MTFC_ENTRY
#define MTFC_ENTRY(name)                  \
  namespace name##_composite {            \
    extern const CompositeDef kComposite; \
  }
#include "composite_list.inc"
#undef MTFC_ENTRY

namespace {

template <typename Def>
const Def* find_in(const std::vector<const Def*>& sorted, std::string_view name) {
  const auto at =
      std::lower_bound(sorted.begin(), sorted.end(), name,
                       [](const Def* def, std::string_view key) { return def->signature.name < key; });
  return at != sorted.end() && (*at)->signature.name == name ? *at : nullptr;
}

template <typename Def>
std::vector<const Def*> by_name(std::vector<const Def*> list) {
  std::sort(list.begin(), list.end(),
            [](const Def* a, const Def* b) { return a->signature.name < b->signature.name; });
  return list;
}

std::vector<const OpDef*> listed_ops() {
  std::vector<const OpDef*> ops = {
#define MTFC_ENTRY(name) &name##_op::kOp,
#include "op_list.inc"
#undef MTFC_ENTRY
  };
#define MTFC_ENTRY(name) \
  for (const OpDef& op : name##_ops::kOps) ops.push_back(&op);
#include "op_table_list.inc"
#undef MTFC_ENTRY
  return ops;
}

}  // namespace

const std::vector<const OpDef*>& all_ops() {
  static const std::vector<const OpDef*> kOps = by_name(listed_ops());
  return kOps;
}

const std::vector<const CompositeDef*>& all_composites() {
  static const std::vector<const CompositeDef*> kComposites = by_name<CompositeDef>({
#define MTFC_ENTRY(name) &name##_composite::kComposite,
#include "composite_list.inc"
#undef MTFC_ENTRY
  });
  return kComposites;
}

const OpDef* find_op(std::string_view name) {
  return find_in(all_ops(), name);
}
const CompositeDef* find_composite(std::string_view name) {
  return find_in(all_composites(), name);
}

const Signature* find_signature(std::string_view name) {
  if (const OpDef* op = find_op(name)) return &op->signature;
  if (const CompositeDef* composite = find_composite(name)) return &composite->signature;
  return nullptr;
}

std::vector<std::string> operation_names() {
  std::vector<std::string> names;
  for (const OpDef* op : all_ops()) names.emplace_back(op->signature.name);
  for (const CompositeDef* composite : all_composites()) names.emplace_back(composite->signature.name);
  std::sort(names.begin(), names.end());
  return names;
}

const OpDef& op_named(std::string_view name) {
  const OpDef* op = find_op(name);
  if (!op) throw InternalError("no operation '" + std::string(name) + "'");
  return *op;
}

}  // namespace mtfc
