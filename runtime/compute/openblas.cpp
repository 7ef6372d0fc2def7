#include "runtime/compute/openblas.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "core/diagnostics/error.h"
#include "runtime/compute/threads.h"

namespace mtfc {
namespace {

// Addresses that OpenBLAS 0.3.21 takes when it is loaded, and for each thread: its buffer of 128 MiB, the thread's
// stack, and the heap that the C library gives each thread.
constexpr int64_t kMiB = int64_t{1} << 20, kToLoad = 320 * kMiB, kPerThread = 208 * kMiB;

// A reservation that is given back at once tells if the limit allows it.
void require_addresses() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  const int64_t needed = kToLoad + threads() * kPerThread;
  const auto size = static_cast<size_t>(needed);
  void* const room = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED)
    throw RunError(
        fmt::format("matrix products by OpenBLAS need {} MiB of addresses with {}, and the limit of this "
                    "process leaves fewer (raise it with ulimit -v, or choose fewer --threads)",
                    needed / kMiB, threads() == 1 ? "one thread" : fmt::format("{} threads", threads())));
  munmap(room, size);
}

void* loaded() {
  // The build that mtfc was configured with, then whatever the system finds by the name.
  for (const char* name : {MTFC_OPENBLAS_FOLDER "/" MTFC_OPENBLAS, MTFC_OPENBLAS})
    if (void* const library = dlopen(name, RTLD_NOW | RTLD_GLOBAL)) return library;
  throw RunError(fmt::format("matrix products need OpenBLAS, which can't be loaded: {}", dlerror()));
}

// A library that is preloaded may stand before OpenBLAS, so that products can be traced.
template <typename Function>
void find(const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  if (!function) throw RunError(fmt::format("OpenBLAS lacks the function '{}'", name));
}

OpenBlas prepared() {
  require_addresses();
  loaded();
  OpenBlas blas{};
  find("cblas_sgemm", blas.sgemm);
  find("cblas_dgemm", blas.dgemm);
  find("cblas_sgemv", blas.sgemv);
  find("cblas_dgemv", blas.dgemv);
  return blas;
}

}  // namespace

const OpenBlas& openblas() {
  static const OpenBlas kBlas = prepared();
  return kBlas;
}

}  // namespace mtfc
