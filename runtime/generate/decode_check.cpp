#include "runtime/generate/decode_check.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "core/diagnostics/error.h"
#include "core/diagnostics/suggest.h"
#include "runtime/execute/recording.h"
#include "runtime/execute/whole_value.h"
#include "runtime/generate/beam_search.h"
#include "runtime/generate/decoder.h"

namespace mtfc {
namespace {

int64_t size_in(const Dims& dims, const std::string& name) {
  const int at = position(dims, name);
  return at < 0 ? 1 : dims[static_cast<size_t>(at)].size;
}

// A token of the vocabulary other than 0, which in many models is padding and has no place within a sequence.
double random_token(std::mt19937_64& random, int64_t vocabulary) {
  if (vocabulary < 2) return 0;
  return static_cast<double>(1 + random() % static_cast<uint64_t>(vocabulary - 1));
}

std::vector<double> random_tokens(const Dims& dims, int64_t vocabulary) {
  std::mt19937_64 random(1);
  std::vector<double> tokens;
  for (int64_t i = 0; i < elements(dims); ++i) tokens.push_back(random_token(random, vocabulary));
  return tokens;
}

// The place of an element in a tensor over sequences, positions and perhaps the vocabulary, in any order.
class Places {
 public:
  Places(const Dims& dims, const ForwardLogits& names) {
    int64_t stride = 1;
    for (size_t d = dims.size(); d-- > 0; stride *= dims[d].size) {
      const std::string& name = dims[d].name;
      (name == names.position ? position_ : name == names.vocabulary ? word_ : sequence_) = stride;
    }
  }
  size_t at(int64_t sequence, int64_t position, int64_t word = 0) const {
    return static_cast<size_t>(sequence * sequence_ + position * position_ + word * word_);
  }

 private:
  int64_t sequence_ = 0, position_ = 0, word_ = 0;  // strides
};

// Rows of tokens end with padding, zeros, as sequences of several lengths do. The last of several is all padding.
HostTensor random_input(const TensorType& type, int64_t vocabulary, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  const int64_t length = type.dims.empty() ? 1 : type.dims.back().size;
  const int64_t kinds = type.dtype == DType::kBool ? 2 : vocabulary;
  std::vector<double> numbers;
  const int64_t rows = elements(type.dims) / std::max<int64_t>(1, length);
  for (int64_t row = 0; row < rows; ++row) {
    const bool is_empty = rows > 1 && row + 1 == rows;
    const auto used = is_empty ? 0 : 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(length));
    for (int64_t i = 0; i < length; ++i) {
      if (is_float(type.dtype))
        numbers.push_back(normal(random));
      else
        numbers.push_back(i < used ? random_token(random, kinds) : 0);
    }
  }
  return value_of(type, numbers);
}

// Everything that the logits of a position are compared with.
struct Forward {
  std::vector<double> tokens, logits;
  Places token, logit;
  int64_t positions = 0;
  double largest = 0;  // logit

  int64_t token_at(int64_t sequence, int64_t position) const {
    return static_cast<int64_t>(tokens[token.at(sequence, position)]);
  }
};

using Inputs = std::map<std::string, HostTensor>;

void give(Executor& executor, const EntryPoint& entry, const Binding& input, const HostTensor& value) {
  for (size_t device = 0; device < executor.devices(); ++device)
    fill(executor.shard(entry, input.value, device), value);
}

Forward run_forward(Executor& forward, const ForwardLogits& names, const Inputs& inputs) {
  const EntryPoint& evaluate = *forward.program().find("evaluate");
  forward.load(evaluate);
  const TensorType& output = evaluate.values[evaluate.outputs.at(0).value].type;
  TensorType input;
  std::vector<double> tokens;
  for (const Binding& binding : evaluate.inputs) {
    if (const auto other = inputs.find(binding.name); other != inputs.end()) {
      give(forward, evaluate, binding, other->second);
      continue;
    }
    check_invariant(binding.name == names.tokens, "the model has an input that is not given");
    input = evaluate.values[binding.value].type;
    tokens = random_tokens(input.dims, size_in(output.dims, names.vocabulary));
    give(forward, evaluate, binding, value_of(input, tokens));
  }
  forward.run(evaluate, 0);
  Forward made{std::move(tokens),
               numbers_of(outputs_of(forward, evaluate).begin()->second.value),
               {input.dims, names},
               {output.dims, names},
               size_in(input.dims, names.position)};
  for (const double logit : made.logits) made.largest = std::max(made.largest, std::abs(logit));
  return made;
}

void compare_position(const Forward& forward, const Decoder& decoder, int64_t position, double tolerance,
                      DecodeComparison& comparison) {
  const double allowed = tolerance * forward.largest;
  for (int64_t sequence = 0; sequence < decoder.sequences(); ++sequence) {
    const std::span<const double> found = decoder.logits(sequence);
    for (size_t i = 0; i < found.size(); ++i) {
      const int64_t beam = static_cast<int64_t>(i) / decoder.vocabulary();
      const int64_t word = static_cast<int64_t>(i) % decoder.vocabulary();
      const double expected = forward.logits[forward.logit.at(sequence, position, word)];
      const double difference = std::abs(found[i] - expected);
      if (forward.largest > 0)
        comparison.largest = std::max(comparison.largest, difference / forward.largest);
      if (!(difference <= allowed) && !comparison.first)
        comparison.first = {position, sequence, beam, word, found[i], expected, allowed};
    }
  }
}

// Reads the first `count` tokens at once.
void read_prompt(Decoder& decoder, const Forward& forward, int64_t count, BeamPast& past) {
  std::vector<int64_t> tokens;
  for (int64_t sequence = 0; sequence < decoder.sequences(); ++sequence)
    for (int64_t position = 0; position < count; ++position)
      tokens.push_back(forward.token_at(sequence, position));
  decoder.read_prompt(tokens, count);
  if (decoder.places() > 0) past.read_prompt(count);
}

}  // namespace

void disturb_variables(Executor& executor, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  const std::vector<Assembled> variables = variables_of(executor);
  for (size_t v = 0; v < variables.size(); ++v) {
    const HostTensor& held = variables[v].value;
    if (!is_float(held.type.dtype)) continue;
    const bool trained = executor.program().variables[v].decl.trainable;
    std::vector<double> numbers = numbers_of(held);
    for (double& number : numbers) {
      const double drawn = 0.1 * normal(random);
      number = number == 0 && trained ? drawn : number * (1 + drawn);
    }
    const HostTensor changed = value_of(held.type, numbers);
    for (size_t device = 0; device < executor.devices(); ++device)
      fill(executor.variable(v, device), changed);
  }
}

void copy_variables(Executor& from, Executor& to) {
  const std::vector<Assembled> values = variables_of(from);
  const std::vector<ProgramVariable>& given = from.program().variables;
  for (size_t v = 0; v < to.program().variables.size(); ++v) {
    const ProgramVariable* same = find_named(given, to.program().variables[v].decl.name);
    check_invariant(same != nullptr, "decode has a variable that the model lacks");
    for (size_t device = 0; device < to.devices(); ++device)
      fill(to.variable(v, device), values[static_cast<size_t>(same - given.data())].value);
  }
}

DecodeComparison compare_decode(Executor& forward, Executor& decode, const ForwardLogits& names,
                                int64_t positions, double tolerance) {
  Decoder decoder(decode);
  Inputs inputs;
  const EntryPoint* encode = decoder.encode();
  if (encode)
    for (const Binding& input : encode->inputs) {
      const auto known = names.ids.find(input.name);
      const int64_t ids = known == names.ids.end() ? decoder.vocabulary() : known->second;
      inputs.emplace(input.name, random_input(encode->values[input.value].type, ids, 2 + inputs.size()));
    }
  const Forward whole = run_forward(forward, names, inputs);
  DecodeComparison comparison;
  comparison.positions = std::min(positions, whole.positions);
  const auto compare_from = [&](int64_t first) {
    decoder.begin([&] {
      for (const Binding& input : encode->inputs) give(decode, *encode, input, inputs.at(input.name));
    });
    BeamPast past(decoder.beams(), std::max(decoder.places(), decoder.beams()));
    if (first > 0) read_prompt(decoder, whole, first, past);
    for (int64_t position = first; position < comparison.positions; ++position) {
      std::vector<int64_t> tokens;
      std::vector<uint8_t> seen;
      if (decoder.places() > 0) past.step(position);
      for (int64_t sequence = 0; sequence < decoder.sequences(); ++sequence) {
        tokens.insert(tokens.end(), static_cast<size_t>(decoder.beams()), whole.token_at(sequence, position));
        if (decoder.places() > 0) seen.insert(seen.end(), past.seen().begin(), past.seen().end());
      }
      decoder.step(position, tokens, seen);
      compare_position(whole, decoder, position, tolerance, comparison);
    }
  };
  compare_from(0);
  if (const int64_t half = std::min(comparison.positions / 2, decoder.prompt_positions()); half > 0)
    compare_from(half);
  return comparison;
}

}  // namespace mtfc
