#pragma once
// A sum over the elements of a tensor that tells a changed one. The parts of a tensor can be added in any order, so
// each rank sums the elements that it holds.
//
// An element with the bits b (as an unsigned number) at the row-major position p of the whole tensor, counted from 0,
// adds the number that the generator SplitMix64 with the seed b gives after p others, modulo 2^64:
//
//   checksum of [1234567, 1234567] of u64 = 6457827717110365317 + 3203168211198807973
//
// A change of one element always changes the sum; any other change is overlooked once in 2^64 cases.

#include <cstddef>
#include <cstdint>

namespace mtfc {

/// The part of a tensor's checksum that `count` elements of `element_bytes` (1, 2, 4 or 8) each contribute, which are
/// at the positions from `first` on. Uses the threads of this process.
uint64_t checksum(const std::byte* elements, int64_t element_bytes, int64_t count, int64_t first);

}  // namespace mtfc
