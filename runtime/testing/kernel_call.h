#pragma once
// One kernel by itself, on boxes of whole tensors, as a device that holds a part of each would run it. For
// tests.

#include <optional>
#include <string_view>
#include <vector>

#include "runtime/compute/kernel.h"
#include "runtime/execute/whole_value.h"
#include "runtime/testing/elements.h"
#include "runtime/testing/interpreter.h"

namespace mtfc {

/// `box` of a whole tensor, as a tensor of its own.
HostTensor slice_of(const HostTensor& tensor, const Box& box);

struct KernelCall {
  std::string_view op;
  Attributes attributes = {};
  std::vector<HostTensor> operands = {};         // whole
  std::vector<Box> operand_boxes = {};           // empty: whole
  std::optional<Box> result_box = std::nullopt;  // of the first result; absent: whole
  std::vector<Box> other_boxes = {};             // of the other results; empty: whole
  uint64_t seed = 0;
  int64_t step = 0;
};

struct KernelAnswer {
  HostTensor result;               // the box of the first result
  std::vector<HostTensor> others;  // the boxes of the other results
  int64_t flops = 0;
  int64_t planned_flops = 0;  // by OpDef::flops
};

KernelAnswer call_kernel(const KernelCall& call);

}  // namespace mtfc
