#include "core/op_rules/random_rules.h"

#include "core/op_rules/example.h"
#include "core/op_rules/family.h"

namespace mtfc {
namespace {

constexpr AttributeSpec kRandomDims = {"dims", AttributeType::kDims, true, "the dimensions of the result"};
constexpr AttributeSpec kRandomDType = {"dtype", AttributeType::kDType, false, "f32 (the default) or f64"};
constexpr AttributeSpec kRandomKey = {
    "key", AttributeType::kText, false,
    "the name of the tensor whose numbers these are, instead of the result's", true};

void require_part(const OpCall& call, const Dims& dims) {
  if (call.operands[0] != TensorType{DType::kI32, {}})
    throw OpError{"the number of a part must be an i32 scalar, not " + to_string(call.operands[0]), "", 0};
  const Dim& whole = call.attributes.get<Dim>("interleaved");
  const int at = position(dims, whole.name);
  if (at < 0) throw OpError{"the result has no dimension '" + whole.name + "'", "", -1, "interleaved"};
  const int64_t own = dims[static_cast<size_t>(at)].size;
  if (own == 0 || whole.size % own != 0)
    throw OpError{"parts of " + std::to_string(own) + " don't make up " + std::to_string(whole.size), "", -1,
                  "interleaved"};
}

std::vector<TensorType> infer_random(const OpCall& call) {
  const DType dtype = call.attributes.get_or("dtype", DType::kF32);
  const Dims& dims = call.attributes.get<Dims>("dims");
  require_distinct(dims, "dims");
  if (!is_float(dtype))
    throw OpError{"'dtype' must be f32, f64 or bf16, not " + to_string(dtype), "use cast for other types", -1,
                  "dtype"};
  if (call.operands.empty() != !call.attributes.has("interleaved"))
    throw OpError{"random numbers are generated without operands", "", 0};
  if (!call.operands.empty()) require_part(call, dims);
  return {{dtype, dims}};
}

}  // namespace

OpDef random_numbers(std::string_view name, std::string_view doc) {
  OpDef made = generator({
      .name = name,
      .doc = doc,
      .attributes = {kRandomDims, kRandomDType, kRandomInterleaved, kRandomKey},
      .infer = infer_random,
      .examples = {{{}, {{"dims", dims_of("batch=5 hidden=7")}}},
                   {{}, {{"dims", dims_of("a=3 b=5 c=7")}, {"dtype", DType::kF64}}},
                   {{}, {{"dims", Dims{}}}}},
      .flops = result_elements,
      .traits = {.is_drawn = true, .own_pace = true},
  });
  made.signature.max_operands = 1;  // the number of a part
  return made;
}

}  // namespace mtfc
