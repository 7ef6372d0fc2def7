#pragma once
// The values of two programs of one entry point that hold the same tensor.
//
// Values are called like their tensor, with a suffix after '@' for a further form of it, in another sharding. Names
// are unique within an entry point, and within the condition and the body of each loop.

#include <vector>

#include "core/program/program.h"

namespace mtfc {

/// The values that `entry` reads before any step writes them, and those that no step writes: inputs, variables and
/// caches. Aliases are not among them.
PerValue<bool> leaves_of(const EntryPoint& entry);
/// The aliases of each value, direct and indirect.
PerValue<std::vector<ValueId>> aliases_of(const EntryPoint& entry);

/// The counterparts, in the program `other`, of the values of `whole`, a program for one device.
class Counterparts {
 public:
  Counterparts(const EntryPoint& whole, const EntryPoint& other);
  /// The value of the same name, or kNoValue.
  ValueId own(ValueId id) const { return own_[id]; }
  /// The tensor in other forms, which are no one else's counterparts.
  const std::vector<ValueId>& forms(ValueId id) const { return forms_[id]; }

 private:
  PerValue<ValueId> own_;
  PerValue<std::vector<ValueId>> forms_;
};

}  // namespace mtfc
