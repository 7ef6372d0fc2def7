#include "runtime/compute/threads.h"

#include <omp.h>

#include <algorithm>

namespace mtfc {

int default_threads(int cores, int ranks) {
  return std::max(1, cores / std::max(1, ranks));
}

void set_threads(int threads) {
  omp_set_dynamic(0);
  omp_set_num_threads(threads);
}

int threads() {
  return omp_get_max_threads();
}

}  // namespace mtfc
