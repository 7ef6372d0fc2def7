#include "core/op_rules/attention.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/op_rules/family.h"

namespace mtfc {
namespace {

constexpr const char* kNames[] = {"q", "k", "v"};

void require_dim(const OpCall& call, size_t operand, const Dim& dim, std::string_view attribute) {
  if (contains(call.operands[operand].dims, dim.name)) return;
  throw OpError{fmt::format("'{}' names the dimension '{}', which {}, {}, lacks", attribute, dim.name,
                            kNames[operand], to_string(call.operands[operand])),
                "", -1, std::string(attribute)};
}

// The one dimension of v that is neither `over` nor a batch dimension.
Dim value_dim(const OpCall& call, const AttentionDims& dims) {
  const TensorType& v = call.operands[2];
  const Dims own = without(without(v.dims, dims.batch), {dims.memory});
  if (own.size() != 1)
    throw OpError{fmt::format("v is {}, but it needs one dimension beside '{}' and the batch dimensions [{}]",
                              to_string(v), dims.memory.name, to_string(dims.batch)),
                  "", 2};
  if (own[0].name != dims.inner.name && contains(call.operands[0].dims, own[0].name))
    throw OpError{fmt::format("v's dimension '{}' is also a dimension of q that k lacks", own[0].name),
                  "rename it", 2};
  return own[0];
}

void require_positions(const OpCall& call, const AttentionDims& dims) {
  const bool causal = call.attributes.get_or("causal", false);
  const int64_t window = call.attributes.get_or("window", int64_t{0});
  if (window < 0) throw OpError{"'window' is negative", "0 is no window", -1, "window"};
  if (!causal && window == 0) return;
  if (!call.attributes.has("positions"))
    throw OpError{fmt::format("'{}' needs 'positions', the dimension of the queries that counts along '{}'",
                              causal ? "causal" : "window", dims.memory.name)};
  const Dim& along = call.attributes.get<Dim>("positions");
  if (!contains(dims.queries, along.name))
    throw OpError{
        fmt::format("'positions' names the dimension '{}', which does not tell the queries apart: [{}] do",
                    along.name, to_string(dims.queries)),
        "", -1, "positions"};
}

// The sum of i + shift for all i from 0 to count - 1, where each term is at least 0 and at most `most`.
double clamped_sum(double count, double shift, double most) {
  const double first = std::clamp(-shift, 0.0, count), full = std::clamp(most - shift, first, count);
  return (full - first) * (first + full - 1 + 2 * shift) / 2 + (count - full) * most;
}

// The positions of the memory that a window has, up to its whole size; all of the memory without a window.
int64_t window_span(const Attributes& attributes) {
  const int64_t memory = attributes.get<Dim>("over").size;
  const int64_t window = std::min(memory, attributes.get_or("window", int64_t{0}));
  if (window == 0) return memory;
  return attributes.get_or("causal", false) ? window : std::min(memory, 2 * window - 1);
}

// True if split queries read only what is near, so that a device needs a part of the memory.
template <typename Type>
bool reads_near(const Attributes& attributes, std::span<const Type> operands) {
  constexpr size_t kAfterValues = 3;
  if (attributes.get_or("window", int64_t{0}) == 0) return false;
  const Dim &along = attributes.get<Dim>("positions"), &memory = attributes.get<Dim>("over");
  return along.size == memory.size &&
         std::none_of(operands.begin() + kAfterValues, operands.end(), [&](const Type& type) {
           return contains(type.dims, along.name) && contains(type.dims, memory.name);
         });
}

}  // namespace

std::vector<AttributeSpec> attention_attributes() {
  return {
      {"over", AttributeType::kDim, true, "the dimension of k and v that is attended to"},
      {"dim", AttributeType::kDim, true, "the dimension that is contracted between q and k"},
      {"positions", AttributeType::kDim, false,
       "the dimension of q that counts along `over`, for `causal` and `window`"},
      {"causal", AttributeType::kFlag, false, "whether no query sees later positions"},
      {"window", AttributeType::kInteger, false,
       "above 0: a query sees only positions less than so many away"},
      {"scale", AttributeType::kNumber, false, "what the scores q·k are multiplied by; default: 1"},
      {"cap", AttributeType::kNumber, false,
       "above 0: a score s becomes cap·tanh(s / cap), before a bias is added"},
      {"dropout", AttributeType::kNumber, false,
       "above 0: the probability that a weight becomes 0, while others grow by 1 / (1 - dropout); the last "
       "operand is then an i64 for each query, from which its draws are made"}};
}

OpDef attention(FamilyMember member) {
  member.attributes = attention_attributes();
  member.traits = {.multiplies = true, .in_f32 = true};
  return family_member(Family::kAttention, std::move(member));
}

AttentionDims attention_dims(const OpCall& call) {
  const TensorType &q = call.operands[0], &k = call.operands[1];
  for (size_t i = 0; i < 3; ++i)
    if (!is_float(call.operands[i].dtype) || call.operands[i].dtype != q.dtype)
      throw OpError{fmt::format("{} is {}, but q, k and v must be all f32, all f64 or all bf16", kNames[i],
                                to_string(call.operands[i])),
                    "use cast", static_cast<int>(i)};
  AttentionDims dims{{}, {}, call.attributes.get<Dim>("dim"), call.attributes.get<Dim>("over"), {}};
  require_dim(call, 0, dims.inner, "dim");
  require_dim(call, 1, dims.inner, "dim");
  require_dim(call, 1, dims.memory, "over");
  require_dim(call, 2, dims.memory, "over");
  if (contains(q.dims, dims.memory.name))
    throw OpError{fmt::format("q is {}, but '{}' is the memory's dimension", to_string(q), dims.memory.name),
                  "rename it", 0};
  for (const Dim& own : without(k.dims, {dims.inner, dims.memory}))
    for (const size_t other : {size_t{0}, size_t{2}})
      if (!contains(call.operands[other].dims, own.name))
        throw OpError{fmt::format("k has the dimension '{}', which {}, {}, lacks", own.name, kNames[other],
                                  to_string(call.operands[other])),
                      "use broadcast", static_cast<int>(other)};
  for (const Dim& own : without(q.dims, {dims.inner}))
    (contains(k.dims, own.name) ? dims.batch : dims.queries).push_back(own);
  dims.value = value_dim(call, dims);
  require_positions(call, dims);
  if (!(score_cap(call.attributes) >= 0)) throw OpError{"'cap' is negative", "0 is no cap", -1, "cap"};
  return dims;
}

TensorType per_query_type(const TensorType& q, const AttentionDims& dims) {
  return {computed_dtype(q.dtype), query_dims(q.dims, dims)};
}

double score_scale(const Attributes& attributes) {
  return attributes.get_or("scale", 1.0);
}

double score_cap(const Attributes& attributes) {
  return attributes.get_or("cap", 0.0);
}

double dropout_rate(const Attributes& attributes) {
  return attributes.get_or("dropout", 0.0);
}

AttentionExtras attention_extras(const OpCall& call, size_t first) {
  AttentionExtras extras;
  size_t end = call.operands.size();
  if (dropout_rate(call.attributes) > 0 && end > first) extras.draws = --end;
  if (end > first && is_float(call.operands[first].dtype)) extras.bias = first++;
  if (end > first) extras.mask = first;
  return extras;
}

namespace {

// An operand that is aligned with the scores.
void require_along_scores(const OpCall& call, const AttentionDims& dims, size_t operand,
                          std::string_view name) {
  const Dims scores = unite(unite(dims.batch, dims.queries), {dims.memory});
  for (const Dim& own : call.operands[operand].dims)
    if (!contains(scores, own.name))
      throw OpError{fmt::format("the {} has the dimension '{}', which the scores, of [{}], lack", name,
                                own.name, to_string(scores)),
                    "rename it", static_cast<int>(operand)};
}

}  // namespace

void require_attention_extras(const OpCall& call, const AttentionDims& dims, size_t first) {
  const double rate = dropout_rate(call.attributes);
  require_rate(rate, "dropout");
  const AttentionExtras extras = attention_extras(call, first);
  const TensorType draws = {DType::kI64, query_dims(call.operands[0].dims, dims)};
  if (rate > 0 && !extras.draws)
    throw OpError{
        fmt::format("'dropout' needs one more operand, {}, with a number for each query", to_string(draws)),
        "dropout_attention makes these numbers by itself", -1, "dropout"};
  if (call.operands.size() > first + (extras.bias ? 1 : 0) + (extras.mask ? 1 : 0) + (extras.draws ? 1 : 0))
    throw OpError{first == 3 ? "only a bias and a mask may follow q, k and v"
                             : "only a bias and a mask may follow the gradient",
                  "with 'dropout', numbers of the queries follow too",
                  static_cast<int>(call.operands.size()) - 1};
  if (extras.draws) {
    const TensorType& found = call.operands[*extras.draws];
    if (found.dtype != draws.dtype || !same_set(found.dims, draws.dims))
      throw OpError{fmt::format("the numbers of the queries, for 'dropout', are {}, but they must be {}",
                                to_string(found), to_string(draws)),
                    "", static_cast<int>(*extras.draws)};
  }
  const TensorType& q = call.operands[0];
  if (extras.bias) {
    const TensorType& bias = call.operands[*extras.bias];
    if (bias.dtype != q.dtype && bias.dtype != computed_dtype(q.dtype))
      throw OpError{
          fmt::format("the bias is {}, but it must be {} as q is", to_string(bias), to_string(q.dtype)),
          "use cast", static_cast<int>(*extras.bias)};
    require_along_scores(call, dims, *extras.bias, "bias");
  }
  if (!extras.mask) return;
  const TensorType& mask = call.operands[*extras.mask];
  if (mask.dtype != DType::kBool)
    throw OpError{"the mask is " + to_string(mask) + ", but it must be bool", "use cast or a comparison",
                  static_cast<int>(*extras.mask)};
  require_along_scores(call, dims, *extras.mask, "mask");
}

void require_attention_gradient(const OpCall& call, const AttentionDims& dims) {
  using Operands = AttentionGradientOperands;
  require_attention_extras(call, dims, Operands::kExtras);
  const TensorType& q = call.operands[0];
  const TensorType per_query = per_query_type(q, dims), result = {q.dtype, result_dims(q.dims, dims)};
  const auto require = [&](size_t at, std::string_view what, const TensorType& wanted) {
    const TensorType& found = call.operands[at];
    if ((found.dtype != wanted.dtype && found.dtype != q.dtype) || !same_set(found.dims, wanted.dims))
      throw OpError{fmt::format("{} is {}, but it must be {}", what, to_string(found), to_string(wanted)), "",
                    static_cast<int>(at)};
  };
  require(Operands::kTotal, "the attention's second result", per_query);
  require(Operands::kDelta, "the sum for each query", per_query);
  require(Operands::kGiven, "the gradient of the attention's result", result);
}

Dims query_dims(const Dims& q, const AttentionDims& dims) {
  return without(q, {dims.inner});
}

Dims result_dims(const Dims& q, const AttentionDims& dims) {
  Dims result = q;
  for (Dim& dim : result)
    if (dim.name == dims.inner.name) dim = dims.value;
  return result;
}

AttentionSizes attention_sizes(const LocalCall& call) {
  const std::string &inner = call.attributes.get<Dim>("dim").name,
                    &memory = call.attributes.get<Dim>("over").name;
  const LocalDims &q = call.operands[0].dims, &k = call.operands[1].dims, &v = call.operands[2].dims;
  AttentionSizes sizes;
  for (const LocalDim& dim : q) {
    if (dim.name == inner)
      sizes.inner = dim.size;
    else
      (contains(k, dim.name) ? sizes.batch : sizes.queries) *= dim.size;
  }
  for (const LocalDim& dim : v) {
    if (dim.name == memory)
      sizes.memory = dim.size;
    else if (dim.name == inner || !contains(k, dim.name))
      sizes.value = dim.size;
  }
  const int64_t span = window_span(call.attributes), all = call.attributes.get<Dim>("over").size;
  const bool is_whole = reads_near(call.attributes, call.operands) || all == 0;
  sizes.counted = is_whole ? span : (span * sizes.memory + all - 1) / all;
  return sizes;
}

AttentionSizes attention_gradient_sizes(const LocalCall& call, std::span<const LocalType> results) {
  std::vector<LocalType> own(call.operands.begin(), call.operands.end());
  own[0] = results[0];
  return attention_sizes({call.attributes, own});
}

namespace {

// The queries along `positions` and the positions of the memory that the last device has.
struct LastShard {
  int64_t queries, positions;
  int64_t first_query, first_position;
};

LastShard last_shard(const LocalCall& call) {
  const auto size_in = [&](size_t operand, const std::string& name) {
    for (const LocalDim& dim : call.operands[operand].dims)
      if (dim.name == name) return dim.size;
    return int64_t{1};
  };
  const Dim &along = call.attributes.get<Dim>("positions"), &memory = call.attributes.get<Dim>("over");
  const int64_t queries = size_in(0, along.name), positions = size_in(1, memory.name);
  return {queries, positions, along.size - queries, memory.size - positions};
}

}  // namespace

double share_seen(const Attributes& attributes) {
  const bool causal = attributes.get_or("causal", false);
  const auto window = static_cast<double>(attributes.get_or("window", int64_t{0}));
  if (!causal && window == 0) return 1;
  const auto memory = static_cast<double>(attributes.get<Dim>("over").size);
  const auto queries = static_cast<double>(attributes.get<Dim>("positions").size);
  if (memory == 0 || queries == 0) return 1;
  const double ends = clamped_sum(queries, causal ? 1 : window, memory);
  const double begins = window > 0 ? clamped_sum(queries, 1 - window, memory) : 0;
  return (ends - begins) / (queries * static_cast<double>(window_span(attributes)));
}

double share_seen(const LocalCall& call) {
  const bool causal = call.attributes.get_or("causal", false);
  const auto window = static_cast<double>(call.attributes.get_or("window", int64_t{0}));
  if (!causal && window == 0) return 1;
  const LastShard shard = last_shard(call);
  const auto queries = static_cast<double>(shard.queries), positions = static_cast<double>(shard.positions);
  const double counted = static_cast<double>(attention_sizes(call).counted) * queries;
  if (counted == 0) return 1;
  // The place of the first query among the positions of the shard.
  const auto at = static_cast<double>(shard.first_query - shard.first_position);
  const double ends = clamped_sum(queries, at + (causal ? 1 : window), positions);
  const double begins = window > 0 ? clamped_sum(queries, at + 1 - window, positions) : 0;
  return (ends - begins) / counted;
}

double share_computed(const LocalCall& call) {
  constexpr int64_t kMostTiles = 1024;  // that are looked at
  const bool causal = call.attributes.get_or("causal", false);
  const int64_t window = call.attributes.get_or("window", int64_t{0});
  if (!causal && window == 0) return 1;
  const Dim &along = call.attributes.get<Dim>("positions"), &memory = call.attributes.get<Dim>("over");
  const auto [queries, positions, first_query, first] = last_shard(call);
  if (queries == 0 || positions == 0) return 1;
  const int64_t tiles = (queries + kQueriesTogether - 1) / kQueriesTogether;
  const int64_t stride = (tiles + kMostTiles - 1) / kMostTiles;
  double computed = 0, all = 0;
  for (int64_t tile = 0; tile < tiles; tile += stride) {
    const int64_t begin = first_query + tile * kQueriesTogether;
    const int64_t rows = std::min(kQueriesTogether, along.size - begin);
    int64_t from = first, to = memory.size;
    if (causal) to = std::min(to, begin + rows);
    if (window > 0 && window < memory.size + along.size) {
      from = std::max(from, begin - window + 1);
      to = std::min(to, begin + rows - 1 + window);
    }
    computed += static_cast<double>(rows) * static_cast<double>(std::max<int64_t>(0, to - from));
    all += static_cast<double>(rows);
  }
  return computed / (all * static_cast<double>(attention_sizes(call).counted));
}

std::vector<Factor> attention_factors(const OpCall& call, std::span<const TensorType> results,
                                      const std::vector<std::pair<Dims, Factor::Kind>>& kinds) {
  const AttentionDims dims = attention_dims(call);
  std::vector<Factor> factors;
  for (const auto& [list, kind] : kinds)
    for (const Dim& dim : list) factors.push_back(factor(dim.name, kind, call, results));
  // The elements of a value may have the name of the contracted dimension, and are one factor with it then.
  for (const Dim& dim : unite(Dims{dims.inner}, Dims{dims.value}))
    factors.push_back(factor(dim.name, Factor::Kind::kNeedsReplication, call, results));
  return factors;
}

std::vector<Factor> with_near_memory(std::vector<Factor> factors, const OpCall& call,
                                     std::span<const TensorType> results) {
  if (!reads_near(call.attributes, call.operands)) return factors;
  const Dim &along = call.attributes.get<Dim>("positions"), &memory = call.attributes.get<Dim>("over");
  const int64_t window = std::min(memory.size, call.attributes.get<int64_t>("window"));
  const bool causal = call.attributes.get_or("causal", false);
  const bool goes_back =  // to a memory of which each device gives the gradient of its own part
      std::any_of(results.begin(), results.end(),
                  [&](const TensorType& result) { return contains(result.dims, memory.name); });
  const int64_t after = causal ? 0 : window - 1, span = window + after;
  Factor near{Factor::Kind::kPass, std::vector<int>(call.operands.size(), -1), {}};
  const auto add_window = [&](size_t operand, int dim, int64_t low) {
    near.windows.push_back(
        {static_cast<int>(operand), {static_cast<size_t>(dim), along.size, 1, low, span, 1}});
  };
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const Dims& dims = call.operands[i].dims;
    if (const int at = position(dims, memory.name); at >= 0)
      add_window(i, at, window - 1);
    else if (const int query = position(dims, along.name); query >= 0 && goes_back)
      add_window(i, query, after);
    else
      near.operands[i] = query;
  }
  for (const TensorType& result : results)
    near.results.push_back(std::max(position(result.dims, along.name), position(result.dims, memory.name)));
  std::erase_if(factors, [&](const Factor& factor) {
    return (factor.operands[0] >= 0 && factor.operands[0] == position(call.operands[0].dims, along.name)) ||
           (factor.operands[1] >= 0 && factor.operands[1] == position(call.operands[1].dims, memory.name));
  });
  factors.push_back(std::move(near));
  return factors;
}

Example attention_example(std::vector<ExampleOperand> operands, const Attributes& more) {
  Attributes attributes = {{"over", Dim{"m", 7}}, {"dim", Dim{"k", 3}}};
  for (const auto& [name, value] : more.entries()) attributes.set(name, value);
  return {std::move(operands), attributes};
}

}  // namespace mtfc
