#pragma once
// Writes which shards of a program's tensors the devices hold: all tensors as a list, or one of them as a drawing.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/program/placed_tensors.h"

namespace mtfc {

struct PlacementStyle {
  size_t width = 80;  // of the longest line
  bool all = false;   // list what operations compute as well
  // List only tensors whose names it accepts, and computed ones too; empty: all.
  std::function<bool(const std::string& name)> is_listed{};
  std::optional<int64_t>
      rank{};  // list the shards of this device; otherwise those of the device that holds most
};

/// The mesh with its ranks, then a line for each tensor. Tensors of repeated blocks that are split alike share a line.
std::string placements_text(const Program& program, const EntryPoint& entry, const PlacementStyle& style);
/// The same as an object with `mesh` and `tensors`.
std::string placements_json(const Program& program, const EntryPoint& entry, const PlacementStyle& style);

/// The tensor as a matrix cut into its shards, with the ranks that hold each of them.
std::string placement_text(const Program& program, const EntryPoint& entry, const PlacedTensor& tensor,
                           const PlacementStyle& style);
/// The same as an object; `devices` has the region of every rank.
std::string placement_json(const Program& program, const EntryPoint& entry, const PlacedTensor& tensor);
/// The JSON Schema of both outputs.
std::string placement_schema();

}  // namespace mtfc
