#include "runtime/memory/heap.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace mtfc {

#ifdef __GLIBC__

void prepare_heap_for_graphs() {
  constexpr int kRoom = 256 << 20;
  constexpr uintptr_t kHugePage = 2 << 20;
  constexpr int kLaterRoom = 1 << 20;
  constexpr int kLargestInHeap = 32 << 20;  // the most that glibc allows
  mallopt(M_MXFAST, 0);
  mallopt(M_MMAP_THRESHOLD, kLargestInHeap);
  mallopt(M_TRIM_THRESHOLD, 2 * kRoom);
  // The heap grows by this much more than it needs, in one piece, so that one call covers it. Pages that are never
  // written cost nothing.
  mallopt(M_TOP_PAD, kRoom);
  void* first = std::malloc(2 * kHugePage);
  mallopt(M_TOP_PAD, kLaterRoom);
  if (!first) return;
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(first) + kHugePage - 1) / kHugePage * kHugePage;
  const uintptr_t end = reinterpret_cast<uintptr_t>(sbrk(0));
  // This call fails on a system without huge pages. The heap then keeps its ordinary pages.
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
  std::free(first);
}

#else

void prepare_heap_for_graphs() {}

#endif

}  // namespace mtfc
