#include "runtime/generate/decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/diagnostics/error.h"
#include "core/diagnostics/suggest.h"
#include "core/tensors/bf16.h"

namespace mtfc {
namespace {

// So many tokens at a time are multiplied by weights by loops of ours. Libraries, which multiply more of them, do not
// share the threads of a team.
constexpr int64_t kFewSequences = 4;

const Dims& dims_of(const EntryPoint& entry, const Binding& binding) {
  return entry.values[binding.value].type.dims;
}

// Visits the contiguous runs of `shard`: (offset in the whole tensor, offset in the shard, length).
template <typename Visit>
void for_each_run(const LocalShard& shard, Visit visit) {
  const size_t rank = shard.box.size();
  if (rank == 0) return visit(0, 0, 1);
  const int64_t count = shard.box[rank - 1].size();
  std::vector<int64_t> at;
  for (const Interval& interval : shard.box) at.push_back(interval.begin);
  for (int64_t local = 0; local < shard.elements(); local += count) {
    int64_t global = 0;
    for (size_t i = 0; i < rank; ++i) global = global * shard.type.dims[i].size + at[i];
    visit(global, local, count);
    for (size_t i = rank - 1; i-- > 0;) {
      if (++at[i] < shard.box[i].end) break;
      at[i] = shard.box[i].begin;
    }
  }
}

// The number of places of a sequence's caches; 0 if decode has no input `seen`.
int64_t places_of(const EntryPoint& decode) {
  const Binding* seen = find_named(decode.inputs, kSeenInput);
  return seen ? dims_of(decode, *seen).back().size : 0;
}

// Copies a cache into one on the same device that may have more places; all other dimensions are equal.
void copy_cache(const std::vector<std::byte>& from, const LocalShard& shard, const LocalShard& to) {
  const size_t rank = shard.box.size();
  const auto size = static_cast<size_t>(size_of(shard.type.dtype));
  std::vector<int64_t> at(rank, 0);
  const int64_t count = rank == 0 ? 1 : shard.box[rank - 1].size();
  for (size_t i = 0; i < rank; ++i)
    check_invariant(shard.box[i].size() <= to.box[i].size(), "a cache is copied into a smaller one");
  for (int64_t local = 0; local < shard.elements(); local += count) {
    int64_t there = 0;
    for (size_t i = 0; i < rank; ++i) there = there * to.box[i].size() + at[i];
    std::memcpy(to.data + static_cast<size_t>(there) * size, from.data() + static_cast<size_t>(local) * size,
                static_cast<size_t>(count) * size);
    for (size_t i = rank; i-- > 1;) {
      if (++at[i - 1] < shard.box[i - 1].size()) break;
      at[i - 1] = 0;
    }
  }
}

// The dimension of places, which has a name of its own where `prompt` fills the cache.
size_t place_of(const Dims& filled, const Dims& cache) {
  size_t place = 0;
  while (filled.at(place).name == cache.at(place).name) ++place;
  return place;
}

// Copies the first `count` places of a cache, of which `place` is the dimension, to every `apart`-th place of another
// one on the same device. All other dimensions are equal.
void spread_places(const std::vector<std::byte>& from, const LocalShard& shard, const LocalShard& to,
                   size_t place, int64_t count, int64_t apart) {
  if (shard.elements() == 0) return;
  const int64_t room = shard.box[place].size(), places = to.box[place].size();
  check_invariant(count <= room && (count - 1) * apart < places, "a prompt is longer than its caches");
  int64_t rows = 1, inner = size_of(shard.type.dtype);  // a row holds `inner` bytes for each place
  for (size_t i = 0; i < shard.box.size(); ++i)
    (i < place ? rows : inner) *= i == place ? 1 : shard.box[i].size();
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t p = 0; p < count; ++p)
      std::memcpy(to.data + (row * places + p * apart) * inner, from.data() + (row * room + p) * inner,
                  static_cast<size_t>(inner));
}

}  // namespace

Decoder::Decoder(Executor& executor) : executor_(executor) {
  for (const EntryPoint& entry : executor.program().entry_points)
    if (entry.name == "decode") entries_.push_back(&entry);
  check_invariant(!entries_.empty(), "the program has no decode");
  std::sort(entries_.begin(), entries_.end(),
            [](const EntryPoint* a, const EntryPoint* b) { return places_of(*a) < places_of(*b); });
  check_invariant(!decode().outputs.empty(), "decode has no logits");
  const Binding* token = find_named(decode().inputs, kTokenInput);
  if (token && !dims_of(decode(), *token).empty()) sequences_ = dims_of(decode(), *token)[0].size;
  if (token && dims_of(decode(), *token).size() > 1) beams_ = dims_of(decode(), *token)[1].size;
  places_ = places_of(*entries_.back());
  vocabulary_ = dims_of(decode(), decode().outputs[0]).back().size;
  if (sequences_ * beams_ <= kFewSequences) team_ = Team::of_own_threads();
  encode_ = executor.program().find("encode");
  prompt_ = executor.program().find("prompt");
  if (!prompt_) return;
  prompt_positions_ = elements(dims_of(*prompt_, prompt_->inputs.at(0))) / sequences_;
  // Caches may have fewer places than that.
  for (const ProgramVariable& filled : prompt_->caches)
    for (const ProgramVariable& cache : entries_.back()->caches)
      if (cache.decl.name == filled.decl.name) {
        const Dims& dims = cache.decl.type.dims;
        const int64_t places = dims[place_of(filled.decl.type.dims, dims)].size;
        prompt_positions_ = std::min(prompt_positions_, places / beams_);
      }
}

void Decoder::prepare() {
  if (encode_) executor_.load(*encode_);
  if (prompt_) executor_.load(*prompt_);
  executor_.load(*entries_[0]);
}

void Decoder::begin(const std::function<void()>& fill_inputs) {
  current_ = 0;
  if (!encode_) return start({});
  check_invariant(fill_inputs || encode_->inputs.empty(), "the inputs of encode are missing");
  executor_.load(*encode_);
  if (fill_inputs) fill_inputs();
  executor_.run(*encode_, 0);
  start(saved(*encode_));
}

// The caches of the next entry point overlap with those of this one, so their contents are saved first.
void Decoder::move_on() {
  const SavedCaches caches = saved(decode());
  ++current_;
  start(caches);
}

Decoder::SavedCaches Decoder::saved(const EntryPoint& entry) const {
  SavedCaches caches;
  for (size_t c = 0; c < entry.caches.size(); ++c)
    for (size_t device = 0; device < executor_.devices(); ++device) {
      const LocalShard shard = executor_.cache(entry, c, device);
      const auto bytes = static_cast<size_t>(shard.elements() * size_of(shard.type.dtype));
      caches[entry.caches[c].decl.name].push_back({shard, {shard.data, shard.data + bytes}});
    }
  return caches;
}

// Makes the caches of the current entry point zero, except those that are given, which `copy` fills.
template <typename Copy>
void Decoder::start_with(const SavedCaches& caches, Copy copy) {
  executor_.load(decode());
  executor_.clear_caches(decode());
  for (size_t c = 0; c < decode().caches.size(); ++c) {
    const auto given = caches.find(decode().caches[c].decl.name);
    if (given == caches.end()) continue;
    for (size_t device = 0; device < executor_.devices(); ++device)
      copy(given->second[device], executor_.cache(decode(), c, device));
  }
}

void Decoder::start(const SavedCaches& caches) {
  start_with(caches,
             [](const SavedShard& from, const LocalShard& to) { copy_cache(from.bytes, from.shard, to); });
}

void Decoder::start_after_prompt(const SavedCaches& caches, int64_t count) {
  start_with(caches, [&](const SavedShard& from, const LocalShard& to) {
    const size_t place = place_of(from.shard.type.dims, to.type.dims);
    spread_places(from.bytes, from.shard, to, place, count, beams_);
  });
}

void Decoder::read_prompt(std::span<const int64_t> tokens, int64_t count) {
  const Binding& input = prompt_->inputs.at(0);
  const Dims& dims = dims_of(*prompt_, input);
  const int64_t positions = elements(dims) / sequences_;
  const bool sequences_first =
      dims.size() == 1 || dims[0] == dims_of(decode(), *find_named(decode().inputs, kTokenInput))[0];
  std::vector<int64_t> padded(static_cast<size_t>(sequences_ * positions), 0);
  for (int64_t s = 0; s < sequences_; ++s)
    for (int64_t p = 0; p < count; ++p)
      padded[static_cast<size_t>(sequences_first ? s * positions + p : p * sequences_ + s)] =
          tokens[static_cast<size_t>(s * count + p)];
  executor_.load(*prompt_);
  fill(*prompt_, input, std::span<const int64_t>(padded));
  executor_.run(*prompt_, 0);
  while (current_ + 1 < entries_.size() && count * beams_ > places_of(decode())) ++current_;
  start_after_prompt(saved(*prompt_), count);
}

template <typename Value>
void Decoder::fill(std::string_view input, std::span<const Value> values) {
  if (const Binding* binding = find_named(decode().inputs, input)) fill(decode(), *binding, values);
}

template <typename Value>
void Decoder::fill(const EntryPoint& entry, const Binding& input, std::span<const Value> values) {
  const int64_t own_places = std::max<int64_t>(1, places_of(entry));
  for (size_t device = 0; device < executor_.devices(); ++device) {
    const LocalShard shard = executor_.shard(entry, input.value, device);
    const auto put = [&](auto* data) {
      for_each_run(shard, [&](int64_t from, int64_t to, int64_t count) {
        if (input.name == kSeenInput) from = from / own_places * places_ + from % own_places;
        std::transform(values.data() + from, values.data() + from + count, data + to,
                       [](Value value) { return static_cast<std::remove_pointer_t<decltype(data)>>(value); });
      });
    };
    if (shard.type.dtype == DType::kI32)
      put(reinterpret_cast<int32_t*>(shard.data));
    else if (shard.type.dtype == DType::kI64)
      put(reinterpret_cast<int64_t*>(shard.data));
    else
      put(reinterpret_cast<uint8_t*>(shard.data));
  }
}

void Decoder::step(int64_t position, std::span<const int64_t> tokens, std::span<const uint8_t> seen) {
  position_ = position;
  while (current_ + 1 < entries_.size() && (position + 1) * beams_ > places_of(decode())) move_on();
  fill(kTokenInput, tokens);
  fill(kPositionInput, std::span<const int64_t>(&position, 1));
  fill(kSeenInput, seen);
  const Team::Lead lead(team_.get());
  executor_.run(decode(), position);
}

std::span<const double> Decoder::logits(int64_t sequence) const {
  const LocalShard shard = executor_.shard(decode(), decode().outputs[0].value, 0);
  const int64_t count = beams_ * vocabulary_;
  logits_.resize(static_cast<size_t>(count));
  int64_t usable = 0;
  const auto copy = [&](const auto* data) {
    const auto* const from = data + sequence * count;
    double* const to = logits_.data();
#pragma omp simd reduction(+ : usable)
    for (int64_t i = 0; i < count; ++i) {
      to[i] = static_cast<double>(from[i]);
      usable += to[i] < INFINITY;
    }
  };
  if (shard.type.dtype == DType::kF64)
    copy(reinterpret_cast<const double*>(shard.data));
  else if (shard.type.dtype == DType::kBF16)
    copy(reinterpret_cast<const Bf16*>(shard.data));
  else
    copy(reinterpret_cast<const float*>(shard.data));
  if (usable == count) return logits_;
  const auto wrong =
      std::find_if(logits_.begin(), logits_.end(), [](double logit) { return !(logit < INFINITY); });
  throw RunError(fmt::format("decode, position {}: a logit is {}", position_, *wrong));
}

}  // namespace mtfc
