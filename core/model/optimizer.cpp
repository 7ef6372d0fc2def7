#include "core/model/optimizer.h"

namespace mtfc {

#define MTFC_ENTRY(name)                  \
  namespace name##_optimizer {            \
    extern const OptimizerDef kOptimizer; \
  }
#include "optimizer_list.inc"
#undef MTFC_ENTRY

const std::vector<const OptimizerDef*>& all_optimizers() {
  static const std::vector<const OptimizerDef*> kOptimizers = {
#define MTFC_ENTRY(name) &name##_optimizer::kOptimizer,
#include "optimizer_list.inc"
#undef MTFC_ENTRY
  };
  return kOptimizers;
}

const OptimizerDef* find_optimizer(std::string_view name) {
  for (const OptimizerDef* optimizer : all_optimizers())
    if (optimizer->name == name) return optimizer;
  return nullptr;
}

}  // namespace mtfc
