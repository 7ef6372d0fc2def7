#pragma once
// The heap of the process, which the allocator of the C library manages.

namespace mtfc {

/// Prepares the heap for millions of small objects, such as those of graphs. Its first 256 MiB get huge pages where the
/// system has them, most freed memory merges at once, and little of it returns to the system before the process ends.
/// It is therefore for commands that run no programs. On a virtual machine, where page faults are expensive, a
/// compilation takes half the time. Does nothing if the C library is not glibc. (GLIBC_TUNABLES=glibc.malloc.hugetlb=1
/// gives the whole heap huge pages, but must be set before the process starts.)
void prepare_heap_for_graphs();

}  // namespace mtfc
