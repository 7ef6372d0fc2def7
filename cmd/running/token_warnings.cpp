#include "cmd/running/token_warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <variant>

#include "core/diagnostics/error.h"
#include "core/diagnostics/printable.h"

namespace mtfc {
namespace {

constexpr int64_t kBytes = 256;

// The data of an input; nullptr if it has none.
const InputData* data_of(const Binding& input, const std::vector<InputData>& inputs) {
  for (const InputData& data : inputs)
    if (data.input == input.name) return &data;
  return nullptr;
}

// The tokens of an input; nullptr if it has none.
const TokenSource* tokens_of(const Binding& input, const std::vector<InputData>& inputs) {
  const InputData* data = data_of(input, inputs);
  return data ? std::get_if<TokenSource>(&data->source) : nullptr;
}

// Returns whether the results of a step are elements of its inputs, somewhere else.
bool moves(const Step& step) {
  const OpDef* op = step.op();
  return !op || op->family == Family::kRelabel || op->family == Family::kMovement ||
         op->traits.copies != Copies::kNothing;
}

// The dimension along which the step counts with its operand `at`; nullptr if it does not.
const Dim* counted_dim(const Step& step, size_t at) {
  const OpDef* op = step.op();
  const AttributeValue* value = op ? step.attributes().find("dim") : nullptr;
  const Dim* dim = value ? std::get_if<Dim>(value) : nullptr;
  const auto& own = op ? op->signature.own_dtypes : std::vector<OwnDType>();
  const bool counts = std::any_of(own.begin(), own.end(), [&](const OwnDType& each) {
    return each.operand == static_cast<int>(at) && each.literal == DType::kI32;
  });
  return dim && (counts || op->family == Family::kElementwiseChecked) ? dim : nullptr;
}

// The largest dimension that elements of `input` choose from, wherever they are moved first.
std::optional<Dim> chosen_from(const EntryPoint& entry, ValueId input) {
  std::optional<Dim> largest;
  PerValue<bool> has(entry.values.size(), false);
  has[input] = true;
  const auto look = [&](const Step& step) {
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      if (!has[step.inputs[i]]) continue;
      const Dim* dim = counted_dim(step, i);
      if (dim && (!largest || largest->size < dim->size)) largest = *dim;
      if (moves(step))
        for (const ValueId output : step.outputs) has[output] = true;
    }
  };
  for (const Step& step : entry.steps) {
    look(step);
    for (const Step& member : step.members()) look(member);
  }
  return largest;
}

std::string byte_warnings(const EntryPoint& entry, const std::vector<InputData>& inputs) {
  std::string warnings;
  for (const Binding& input : entry.inputs) {
    const TokenSource* source = tokens_of(input, inputs);
    if (!source || source->tokens.type != StoredType::kU8) continue;
    const std::optional<Dim> dim = chosen_from(entry, input.value);
    if (dim && dim->size > kBytes)
      warnings += fmt::format(
          "mtfc: warning: '{}' has the bytes of a text, 0 to 255, which choose from the {} of '{}': is this "
          "text to be cut into tokens first? (give its --tokenizer, or a model of bytes --set {}=256)\n",
          printable(input.name), dim->size, printable(dim->name), printable(dim->name));
  }
  return warnings;
}

bool are_of_one_text(const TokenSource& a, const TokenSource& b) {
  return a.tokens.type == b.tokens.type && a.tokens.shape == b.tokens.shape && a.first == b.first &&
         a.tokens.sample.bytes == b.tokens.sample.bytes && a.tokens.sample.hash == b.tokens.sample.hash;
}

// An input with tokens, and how many a row of it has.
struct Windows {
  const std::string& input;
  const TokenSource& source;
  int64_t length;
};

// `shorter` has a part of the tokens of `longer`, or all.
std::string same_warning(const Windows& longer, const Windows& shorter) {
  const int64_t ahead = shorter.source.shift - longer.source.shift;
  if (longer.length == shorter.length) {
    if (ahead != 0) return "";
    return fmt::format(
        "mtfc: warning: '{}' and '{}' have the same tokens: a model that is to predict the next one would "
        "learn to repeat what it reads (add ,shift=1 to the source of the targets)\n",
        printable(longer.input), printable(shorter.input));
  }
  // Several targets may be the last ones of a window, shifted by one. A single one inside the window is one of its
  // tokens.
  if (ahead < 0 || ahead >= (shorter.length == 1 ? longer.length : 1)) return "";
  return fmt::format(
      "mtfc: warning: '{}' has tokens of the windows of {} in '{}': a model that is to predict the next one "
      "would learn to repeat what it reads (give the source of '{}' ,shift={})\n",
      printable(shorter.input), longer.length, printable(longer.input), printable(shorter.input),
      longer.source.shift + longer.length);
}

std::string same_warnings(const EntryPoint& entry, const std::vector<InputData>& inputs) {
  std::vector<Windows> all;
  for (const Binding& input : entry.inputs) {
    const Dims& dims = entry.values[input.value].type.dims;
    // One row of the first dimension is a window.
    const int64_t length = dims.empty() ? 1 : elements(Dims(dims.begin() + 1, dims.end()));
    if (const TokenSource* source = tokens_of(input, inputs)) all.push_back({input.name, *source, length});
  }
  std::string warnings;
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t j = i + 1; j < all.size(); ++j)
      if (are_of_one_text(all[i].source, all[j].source))
        warnings +=
            all[i].length < all[j].length ? same_warning(all[j], all[i]) : same_warning(all[i], all[j]);
  return warnings;
}

}  // namespace

void require_vocabulary(const EntryPoint& entry, const std::vector<InputData>& inputs) {
  for (const Binding& input : entry.inputs) {
    const InputData* data = data_of(input, inputs);
    const StoredArray* array = data ? std::get_if<StoredArray>(&data->source) : nullptr;
    if (const TokenSource* tokens = tokens_of(input, inputs)) array = &tokens->tokens;
    if (!array || !array->ids_below) continue;
    const std::optional<Dim> dim = chosen_from(entry, input.value);
    if (!dim || dim->size >= *array->ids_below) continue;
    throw UserError(
        fmt::format("'{}' has the token {} of '{}', but they choose from the {} of '{}'", input.name,
                    *array->ids_below - 1, array->file, dim->size, dim->name),
        fmt::format("the tokenizer is that of another model, or --set {}=N gives this one so many",
                    dim->name));
  }
}

std::string token_warnings(const EntryPoint& entry, const std::vector<InputData>& inputs) {
  return byte_warnings(entry, inputs) + same_warnings(entry, inputs);
}

}  // namespace mtfc
