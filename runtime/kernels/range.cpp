#include "runtime/compute/prepare_typed.h"

namespace mtfc::range_kernel {

namespace {

/// Global indices: a device that holds a later part of the dimension does not start at 0.
template <typename T>
Kernel prepare(Interval held) {
  return [held](const KernelRun& run) -> int64_t {
    T* result = reinterpret_cast<T*>(run.results[0]);
    for (int64_t i = held.begin; i < held.end; ++i) *result++ = static_cast<T>(i);
    return 0;
  };
}

}  // namespace

extern const KernelDef kKernel = {
    .prepare = prepare_typed(
        Numbers{}, []<typename T>(const KernelSite& site) { return prepare<T>(site.results[0].box[0]); }),
};

}  // namespace mtfc::range_kernel
