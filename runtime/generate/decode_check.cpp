#include "runtime/generate/decode_check.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "core/diagnostics/error.h"
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

std::vector<double> random_tokens(const Dims& dims, int64_t vocabulary) {
  std::mt19937_64 random(1);
  std::vector<double> tokens;
  for (int64_t i = 0; i < elements(dims); ++i)
    tokens.push_back(static_cast<double>(random() % static_cast<uint64_t>(vocabulary)));
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

// Everything that the logits of a position are compared with.
struct Forward {
  std::vector<double> tokens, logits;
  Places token, logit;
  int64_t positions = 0;
  double largest = 0;  // logit
};

Forward run_forward(Executor& forward, const ForwardLogits& names) {
  const EntryPoint& evaluate = *forward.program().find("evaluate");
  forward.load(evaluate);
  const TensorType& input = evaluate.values[evaluate.inputs.at(0).value].type;
  const TensorType& output = evaluate.values[evaluate.outputs.at(0).value].type;
  std::vector<double> tokens = random_tokens(input.dims, size_in(output.dims, names.vocabulary));
  for (size_t device = 0; device < forward.devices(); ++device)
    fill(forward.shard(evaluate, evaluate.inputs[0].value, device), value_of(input, tokens));
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
    const std::vector<double> found = decoder.logits(sequence);
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

}  // namespace

void disturb_variables(Executor& executor, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  const std::vector<Assembled> variables = variables_of(executor);
  for (size_t v = 0; v < variables.size(); ++v) {
    const WholeValue& held = variables[v].value;
    if (!is_float(held.type.dtype)) continue;
    const bool trained = executor.program().variables[v].decl.trainable;
    std::vector<double> numbers = numbers_of(held);
    for (double& number : numbers) {
      const double drawn = 0.1 * normal(random);
      number = number == 0 && trained ? drawn : number * (1 + drawn);
    }
    const WholeValue changed = value_of(held.type, numbers);
    for (size_t device = 0; device < executor.devices(); ++device)
      fill(executor.variable(v, device), changed);
  }
}

void copy_variables(Executor& from, Executor& to) {
  const std::vector<Assembled> values = variables_of(from);
  const std::vector<ProgramVariable>& given = from.program().variables;
  for (size_t v = 0; v < to.program().variables.size(); ++v) {
    const auto same = std::find_if(given.begin(), given.end(), [&](const ProgramVariable& variable) {
      return variable.decl.name == to.program().variables[v].decl.name;
    });
    check_invariant(same != given.end(), "decode has a variable that the model lacks");
    for (size_t device = 0; device < to.devices(); ++device)
      fill(to.variable(v, device), values[static_cast<size_t>(same - given.begin())].value);
  }
}

DecodeComparison compare_decode(Executor& forward, Executor& decode, const ForwardLogits& names,
                                int64_t positions, double tolerance) {
  const Forward whole = run_forward(forward, names);
  Decoder decoder(decode);
  BeamPast past(decoder.beams(), std::max(decoder.places(), decoder.beams()));
  DecodeComparison comparison;
  comparison.positions = std::min(positions, whole.positions);
  for (int64_t position = 0; position < comparison.positions; ++position) {
    std::vector<int64_t> tokens;
    std::vector<uint8_t> seen;
    if (decoder.places() > 0) past.step(position);
    for (int64_t sequence = 0; sequence < decoder.sequences(); ++sequence) {
      const double token = whole.tokens[whole.token.at(sequence, position)];
      tokens.insert(tokens.end(), static_cast<size_t>(decoder.beams()), static_cast<int64_t>(token));
      if (decoder.places() > 0) seen.insert(seen.end(), past.seen().begin(), past.seen().end());
    }
    decoder.step(position, tokens, seen);
    compare_position(whole, decoder, position, tolerance, comparison);
  }
  return comparison;
}

}  // namespace mtfc
