#pragma once
// The heap of the process, which the allocator of the C library manages.

namespace mtfc {

/// Prepares the heap for millions of small objects, such as those of graphs: its first 256 MiB get huge pages, and what
/// is freed merges at once. On a virtual machine, where page faults are dear, a compilation takes half the time. Nothing
/// is freed to the system any more before the process ends, so this is for commands that run no programs. It does
/// nothing where the system has no huge pages, or the C library is not glibc (GLIBC_TUNABLES=glibc.malloc.hugetlb=1 does
/// the same for the whole heap, but must be set before the process begins).
void prepare_heap_for_graphs();

}  // namespace mtfc
