#include "runtime/data/feed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "core/diagnostics/error.h"
#include "core/tensors/bf16.h"
#include "core/tensors/random_bits.h"
#include "runtime/data/stored_values.h"
#include "runtime/processes/processes.h"

namespace mtfc {
namespace {

double draw(const RandomSource& source, uint64_t key, int64_t index) {
  const uint64_t first = mixed(key ^ mixed(2 * static_cast<uint64_t>(index)));
  if (source.kind == RandomKind::kNormal) {
    const uint64_t second = mixed(key ^ mixed(2 * static_cast<uint64_t>(index) + 1));
    return normal_of(std::log(unit(first)), unit(second));
  }
  const double value = source.low + unit(first) * (source.high - source.low);
  if (source.kind != RandomKind::kInteger) return value;
  return std::min(std::floor(value), source.high - 1);  // `value` may be rounded up to `high`
}

// The numbers of one step; the rest is told by an element's position.
struct RandomFill {
  const RandomSource& source;
  uint64_t key;
  double scale;
};

template <typename Element>
void fill_random(const RandomFill& fill, const Run& run, std::byte* data) {
  const auto& [source, key, scale] = fill;
  Element* elements = reinterpret_cast<Element*>(data) + run.to;
  for (int64_t i = 0; i < run.length; ++i)
    elements[i] = static_cast<Element>(draw(source, key, run.from + i) * scale);
}

void fill_random(const RandomFill& fill, DType dtype, const Run& run, std::byte* data) {
  switch (dtype) {
    case DType::kF32:
      return fill_random<float>(fill, run, data);
    case DType::kF64:
      return fill_random<double>(fill, run, data);
    case DType::kBF16:
      return fill_random<Bf16>(fill, run, data);
    case DType::kI32:
      return fill_random<int32_t>(fill, run, data);
    case DType::kI64:
      return fill_random<int64_t>(fill, run, data);
    case DType::kI8:
      throw InternalError("no input is i8");
    case DType::kBool:
      for (int64_t i = 0; i < run.length; ++i)
        data[run.to + i] = draw(fill.source, fill.key, run.from + i) != 0 ? std::byte{1} : std::byte{0};
  }
}

// The positions that a run takes from an array, which begins at `first`.
Interval held_at(int64_t first, const Run& run) {
  return {first + run.from, first + run.from + run.length};
}

// Writes 1 in the rows before `present`, 0 in the others.
template <typename Element>
void mark_rows(const LocalShard& shard, int64_t present) {
  const Interval held = shard.box[0];
  const int64_t row = held.size() == 0 ? 0 : shard.elements() / held.size();
  Element* elements = reinterpret_cast<Element*>(shard.data);
  for (int64_t i = held.begin; i < held.end; ++i, elements += row)
    std::fill(elements, elements + row, static_cast<Element>(i < present));
}

void mark_rows(const LocalShard& shard, int64_t present) {
  switch (shard.type.dtype) {
    case DType::kF32:
      return mark_rows<float>(shard, present);
    case DType::kF64:
      return mark_rows<double>(shard, present);
    case DType::kBF16:
      return mark_rows<Bf16>(shard, present);
    case DType::kI32:
      return mark_rows<int32_t>(shard, present);
    case DType::kI64:
      return mark_rows<int64_t>(shard, present);
    case DType::kI8:
      throw InternalError("no input is i8");
    case DType::kBool:
      return mark_rows<bool>(shard, present);
  }
}

// What to do with an array whose rows have the wanted dimensions in another order; "" if they have not. Channels come
// first in many files, and last in a model.
std::string order_hint(const std::vector<int64_t>& shape, const std::vector<int64_t>& wanted) {
  constexpr size_t kMost = 6;
  const size_t rank = shape.size();
  if (rank != wanted.size() || rank < 2 || rank > kMost) return "";
  if (rank == 2)
    return shape[0] == wanted[1] && shape[1] != wanted[1]
               ? ": its dimensions are in another order (numpy.transpose(array) has that of the input)"
               : "";
  const auto fits = [&](const std::vector<size_t>& order) {
    for (size_t i = 1; i < rank; ++i)
      if (shape[order[i]] != wanted[i]) return false;
    return true;
  };
  std::vector<size_t> order(rank);
  std::iota(order.begin(), order.end(), size_t{0});
  std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  bool found = fits(order);
  if (!found) std::sort(order.begin(), order.end());
  while (!found && std::next_permutation(order.begin() + 1, order.end())) found = fits(order);
  if (!found) return "";
  return fmt::format(
      ": its dimensions are in another order (numpy.transpose(array, ({})) has that of the input)",
      fmt::join(order, ", "));
}

// ` (--set batch=30 fits the model to it)`: the settings under which an input has this shape, from its dimension `from`
// on; "" if one of its dimensions has no name in the model, or no elements.
std::string size_hint(const std::vector<int64_t>& shape, const Dims& dims, size_t from,
                      const std::map<std::string, double>& settable) {
  if (shape.size() != dims.size()) return "";
  std::string sets;
  for (size_t i = from; i < shape.size(); ++i) {
    if (shape[i] == dims[i].size) continue;
    if (shape[i] == 0 || !settable.contains(dims[i].name)) return "";
    sets += fmt::format("--set {}={} ", dims[i].name, shape[i]);
  }
  return sets.empty() ? "" : fmt::format(" ({}fits the model to it)", sets);
}

[[noreturn]] void wrong_shape(const InputData& data, const std::vector<int64_t>& shape,
                              const TensorType& type, const std::map<std::string, double>& settable) {
  std::string hint = order_hint(shape, shape_of(type.dims));
  if (hint.empty()) hint = size_hint(shape, type.dims, 1, settable);
  throw RunError(fmt::format("{}: an array of shape {} can't feed the input '{}' of shape [{}]{}",
                             std::get<StoredArray>(data.source).file, shape_text(shape), data.input,
                             to_string(type.dims), hint));
}

}  // namespace

const StoredArray* Feed::Source::array() const {
  const auto* tokens = std::get_if<TokenSource>(&data.source);
  return tokens ? &tokens->tokens : std::get_if<StoredArray>(&data.source);
}

Feed::Feed(const Executor& executor, const EntryPoint& entry, std::vector<InputData> data, uint64_t seed,
           bool fills_up)
    : program_(&executor.program()), seed_(seed), fills_up_(fills_up), order_(seed) {
  for (const Binding& binding : entry.inputs) {
    const auto found = std::find_if(data.begin(), data.end(), [&](const InputData& candidate) {
      return candidate.input == binding.name;
    });
    if (found == data.end())
      throw UserError(fmt::format("the input '{}' has no data", binding.name),
                      fmt::format("give it with --input {}=SPEC", binding.name));
    add(executor, entry, binding, *found);
  }
  for (Source& source : sources_)
    if (std::holds_alternative<TokenSource>(source.data.source)) place_windows(source);
  pair_single_batches();
  for (Source& source : sources_) place_slices(source);
  require_equal_lengths();
  require_rows_to_mark();
}

bool Feed::fills_up() const {
  return fills_up_ || std::any_of(sources_.begin(), sources_.end(), [](const Source& source) {
           return std::holds_alternative<PresentRows>(source.data.source);
         });
}

void Feed::require_rows_to_mark() const {
  const auto walked = std::find_if(sources_.begin(), sources_.end(),
                                   [](const Source& source) { return source.training.rows > 0; });
  for (const Source& source : sources_) {
    if (!std::holds_alternative<PresentRows>(source.data.source)) continue;
    if (source.type.dims.empty() || (walked != sources_.end() && source.batch() != walked->batch()))
      throw UserError(fmt::format("the input '{}' of shape [{}] can't say which rows of a batch are present",
                                  source.data.input, to_string(source.type.dims)),
                      fmt::format("its first dimension must be that of the rows, of size {}", batch()));
  }
}

// Sources with different numbers of rows would be permuted differently, and rows that belong together would
// not meet.
void Feed::require_equal_lengths() const {
  const Source* first = nullptr;
  for (const Source& source : sources_) {
    if (source.training.rows == 0) continue;
    if (!first) first = &source;
    if (source.training.rows == first->training.rows && source.evaluation.rows == first->evaluation.rows)
      continue;
    const auto unit = [](const Source& counted) {
      return std::holds_alternative<TokenSource>(counted.data.source) ? "windows" : "rows";
    };
    const std::string one = unit(*first), other = unit(source);
    throw RunError(fmt::format("'{}' has {} {} and '{}' {}{}: they can't be paired", first->data.input,
                               first->training.rows, one, source.data.input, source.training.rows,
                               one == other ? "" : " " + other));
  }
}

void Feed::add(const Executor& executor, const EntryPoint& entry, const Binding& binding, InputData data) {
  Source source{std::move(data), entry.values[binding.value].type, {}, 0, {}, {}};
  for (size_t device = 0; device < executor.devices(); ++device)
    source.slices.push_back({executor.shard(entry, binding.value, device), {}});
  if (std::holds_alternative<StoredArray>(source.data.source)) {
    place_array(source);
  } else if (std::holds_alternative<RandomSource>(source.data.source)) {
    const bool fraction = std::get<RandomSource>(source.data.source).kind != RandomKind::kInteger;
    if (fraction && !is_float(source.type.dtype))
      throw RunError(fmt::format("{}: this source gives fractions, but the input '{}' is {}",
                                 source.data.spec, source.data.input, to_string(source.type.dtype)));
  }
  sources_.push_back(std::move(source));
}

// An array that holds a single batch is fed every time, unless another source has rows along the same dimension: they
// belong to its rows, even if there are as many of them as in a batch.
void Feed::pair_single_batches() {
  const std::string dim = row_dim();
  for (Source& source : sources_) {
    const auto* array = std::get_if<StoredArray>(&source.data.source);
    if (!array || source.training.rows > 0 || dim.empty() || source.type.dims.empty() ||
        source.type.dims[0].name != dim)
      continue;
    source.training = source.evaluation = {source.batch(), source.window()};
  }
}

// Sources that are iterated over are placed row by row, all others as a whole.
void Feed::place_slices(Source& source) {
  const size_t from = source.training.rows > 0 && !source.type.dims.empty() ? 1 : 0;
  const Dims dims(source.type.dims.begin() + static_cast<std::ptrdiff_t>(from), source.type.dims.end());
  for (Slice& slice : source.slices) {
    const Box box(slice.shard.box.begin() + static_cast<std::ptrdiff_t>(from), slice.shard.box.end());
    slice.runs = common_runs(dims, whole_box(dims), dims, box);
  }
}

void Feed::place_array(Source& source) const {
  const StoredArray& array = std::get<StoredArray>(source.data.source);
  require_convertible(array, source.type.dtype, source.data.scale, "the input '" + source.data.input + "'");
  std::vector<int64_t> shape = array.shape;
  if (source.data.rows) {
    const auto [begin, end] = *source.data.rows;
    if (shape.empty() || begin < 0 || begin > end || end > shape[0])
      throw RunError(fmt::format("{}: rows {}:{} are not in an array of shape {}", array.file, begin, end,
                                 shape_text(shape)));
    shape[0] = end - begin;
  }
  int64_t row_elements = 1;
  for (size_t i = 1; i < shape.size(); ++i) row_elements *= shape[i];
  if (source.data.rows) source.first = source.data.rows->first * row_elements;
  const std::vector<int64_t> wanted = shape_of(source.type.dims);
  if (shape == wanted) return;
  if (shape.size() != wanted.size() || shape.empty() ||
      !std::equal(shape.begin() + 1, shape.end(), wanted.begin() + 1))
    wrong_shape(source.data, shape, source.type, program_->names);
  if (shape[0] < (fills_up_ ? 1 : wanted[0]))
    throw RunError(fmt::format("{}: {} too few for the input '{}', which takes {} at a time{}", array.file,
                               shape[0] == 1 ? "1 row is" : fmt::format("{} rows are", shape[0]),
                               source.data.input, wanted[0],
                               size_hint(shape, source.type.dims, 0, program_->names)));
  source.training = source.evaluation = {shape[0], row_elements};
}

void Feed::place_windows(Source& source) const {
  const auto& text = std::get<TokenSource>(source.data.source);
  const StoredArray& tokens = text.tokens;
  require_convertible(tokens, source.type.dtype, source.data.scale, "the input '" + source.data.input + "'");
  const Source* farthest = nullptr;
  const Source* target = nullptr;
  const auto reach = [](const Source& other) {
    return other.window() + std::get<TokenSource>(other.data.source).shift;
  };
  for (const Source& other : sources_) {
    const auto* shared = std::get_if<TokenSource>(&other.data.source);
    if (!shared || shared->tokens.file != tokens.file) continue;
    if (shared->first != text.first || shared->tokens.shape != tokens.shape ||
        shared->tokens.type != tokens.type)
      throw UserError(fmt::format("the inputs '{}' and '{}' read different parts of {}", source.data.input,
                                  other.data.input, tokens.file),
                      "give both the same rows, split and width: their windows start at the same tokens");
    const auto* later = target ? std::get_if<TokenSource>(&target->data.source) : nullptr;
    if (!later || shared->shift > later->shift ||
        (shared->shift == later->shift && other.window() > target->window()))
      target = &other;
    if (!farthest || reach(other) > reach(*farthest)) farthest = &other;
  }
  const int64_t left = tokens.shape[0] - reach(*farthest);
  if (left < 0)
    throw RunError(fmt::format("{}: {} tokens are too few for the input '{}', whose windows span {}",
                               farthest->data.spec, tokens.shape[0], farthest->data.input, reach(*farthest)));
  source.first = text.shift;
  source.training = {left + 1, 1};
  source.evaluation = {left / target->window() + 1, target->window()};
}

void Feed::go_on(int64_t step, int64_t rows) {
  first_step_ = step;
  first_row_ = rows;
}

// The number of rows before step `step`, if `before` rows precede the first step of this run and each step takes
// `batch`.
int64_t Feed::rows_after(int64_t before, int64_t batch, int64_t step) const {
  int64_t rows = 0;
  if (__builtin_mul_overflow(step - first_step_, batch, &rows) ||
      __builtin_add_overflow(rows, before, &rows) || rows > kMostCounted)
    throw AgreedError(
        fmt::format("step {} is out of reach: training has taken {} rows before step {}, and can "
                    "count no more than {}",
                    step, first_row_, first_step_, kMostCounted));
  return rows;
}

int64_t Feed::rows_before(int64_t step) const {
  return rows_after(first_row_, batch(), step);
}

// The inputs may have batches of different sizes.
int64_t Feed::position(const Source& source, int64_t step) const {
  int64_t before = 0;
  if (__builtin_mul_overflow(first_row_ / batch(), source.batch(), &before) ||
      __builtin_add_overflow(before, first_row_ % batch(), &before))
    before = INT64_MAX;
  return rows_after(before, source.batch(), step);
}

void Feed::fill_training(int64_t step) {
  rows_before(step + 1);
  for (const Source& source : sources_) fill(source, step, true);
}

void Feed::fill_evaluation(int64_t batch) {
  for (const Source& source : sources_) fill(source, batch, false);
}

void Feed::fill(const Source& source, int64_t step, bool training) {
  const DType dtype = source.type.dtype;
  const StoredArray* array = source.array();
  const uint64_t key = mixed(mixed(mixed(seed_) + 2 * static_cast<uint64_t>(step) + (training ? 0 : 1)) ^
                             hash_bytes(source.data.input));
  for (const Slice& slice : source.slices) {
    if (std::holds_alternative<PresentRows>(source.data.source)) {
      mark_rows(slice.shard, training ? source.batch() : rows_present(step));
      continue;
    }
    if (source.training.rows > 0) {
      fill_rows(source, slice, step, training);
      continue;
    }
    for (const Run& run : slice.runs) {
      if (array)
        copy_stored(*array, held_at(source.first, run), source.data.scale, dtype,
                    slice.shard.data + run.to * size_of(dtype));
      else
        fill_random({std::get<RandomSource>(source.data.source), key, source.data.scale}, dtype, run,
                    slice.shard.data);
    }
  }
}

int64_t Feed::row_at(const Source& source, int64_t position) {
  return std::holds_alternative<TokenSource>(source.data.source)
             ? window_at(seed_, source.training.rows, position)
             : order_.at(source.training.rows, position);
}

void Feed::fill_rows(const Source& source, const Slice& slice, int64_t step, bool training) {
  const int64_t size = size_of(source.type.dtype);
  const Walk& walk = training ? source.training : source.evaluation;
  const Interval held = slice.shard.box.empty() ? Interval{0, 1} : slice.shard.box[0];
  const int64_t first = training ? position(source, step) : step * source.batch();
  std::byte* to = slice.shard.data;
  for (int64_t i = held.begin; i < held.end; ++i) {
    const int64_t row = training ? row_at(source, first + i) : (first + i) % walk.rows;
    for (const Run& run : slice.runs)
      copy_stored(*source.array(), held_at(source.first + row * walk.stride, run), source.data.scale,
                  source.type.dtype, to + run.to * size);
    to += slice.shard.elements() / held.size() * size;
  }
}

std::optional<int64_t> Feed::evaluation_batches() const {
  std::optional<int64_t> batches;
  const bool fills = fills_up();
  for (const Source& source : sources_)
    if (source.evaluation.rows > 0) {
      const int64_t more = fills ? source.batch() - 1 : 0;
      batches = std::min(batches.value_or(INT64_MAX), (source.evaluation.rows + more) / source.batch());
    }
  return batches;
}

std::optional<int64_t> Feed::evaluation_rows() const {
  for (const Source& source : sources_)
    if (source.evaluation.rows > 0) return source.evaluation.rows;
  return std::nullopt;
}

int64_t Feed::rows_present(int64_t batch) const {
  const std::optional<int64_t> rows = evaluation_rows();
  return rows ? std::clamp<int64_t>(*rows - batch * this->batch(), 0, this->batch()) : this->batch();
}

int64_t Feed::rows_left_out() const {
  int64_t left = 0;
  const int64_t batches = evaluation_batches().value_or(0);
  for (const Source& source : sources_)
    if (source.evaluation.rows > 0)
      left =
          std::max(left, source.evaluation.rows - batches * source.batch());  // negative if the last batch is
                                                                              // padded
  return left;
}

std::string Feed::row_dim() const {
  for (const Source& source : sources_)
    if (source.training.rows > 0) return source.type.dims.empty() ? "" : source.type.dims[0].name;
  return "";
}

int64_t Feed::epoch_rows() const {
  for (const Source& source : sources_)
    if (source.training.rows > 0) return source.training.rows;
  return 0;
}

int64_t Feed::batch() const {
  for (const Source& source : sources_)
    if (source.training.rows > 0) return source.batch();
  return sources_.empty() ? 1 : sources_.front().batch();
}

void Feed::require_whole_batch() const {
  if (evaluation_batches() != 0) return;
  for (const Source& source : sources_) {
    const int64_t rows = source.evaluation.rows;
    if (rows == 0 || rows >= source.batch()) continue;
    std::vector<int64_t> shape = shape_of(source.type.dims);
    shape[0] = rows;
    throw RunError(fmt::format("{}: {} to evaluate {} too few for the input '{}', which takes {} at a time{}",
                               source.data.spec, rows == 1 ? "1 row" : fmt::format("{} rows", rows),
                               rows == 1 ? "is" : "are", source.data.input, source.batch(),
                               size_hint(shape, source.type.dims, 0, program_->names)));
  }
}

std::string Feed::origin(const std::string& input, int64_t row, int64_t step, bool training) {
  for (const Source& source : sources_) {
    const StoredArray* array = source.array();
    if (source.data.input != input || !array || array->shape.empty()) continue;
    const Walk& walk = training ? source.training : source.evaluation;
    if (walk.rows > 0)
      row =
          training ? row_at(source, position(source, step) + row) : (step * source.batch() + row) % walk.rows;
    if (const auto* tokens = std::get_if<TokenSource>(&source.data.source))
      return fmt::format(" (in the row from token {} of {} on)",
                         tokens->first + source.first + row * walk.stride, array->file);
    if (source.data.rows) row += source.data.rows->first;
    return fmt::format(" (row {} of {})", row, array->file);
  }
  return "";
}

void run_fed(Executor& executor, const EntryPoint& entry, Feed& feed, int64_t step, bool training) {
  try {
    executor.run(entry, step);
  } catch (const InputError& error) {
    throw RunError(error.what() + feed.origin(error.input, error.row, step, training));
  }
}

}  // namespace mtfc
