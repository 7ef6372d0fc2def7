#pragma once
// `--max-reshard-bytes B`: a program that moves a tensor from one sharding to another for more bytes than this is
// refused. A tensor that is gathered by mistake, for want of an annotation, shows itself before it takes the cluster's
// time.

#include <cstdint>

#include "core/program/program.h"

namespace mtfc {

class CommandLine;

/// --max-reshard-bytes, as in 64MiB; 0 where it is not given.
void add_reshard_limit(CommandLine& line, int64_t& limit);

/// Throws one UserError for all tensors of an entry point that are resharded at a cost of more than `limit` bytes sent
/// by a device, the largest first. Reductions and operations that move pieces are no reshards. A limit of 0 allows
/// everything.
void require_small_reshards(const Program& program, int64_t limit);

}  // namespace mtfc
