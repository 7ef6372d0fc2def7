#include "cmd/generating/sources.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "cmd/generating/prompts.h"
#include "cmd/running/input_data.h"
#include "core/diagnostics/error.h"
#include "core/diagnostics/suggest.h"
#include "core/model/decoding.h"
#include "formats/data/data_spec.h"
#include "formats/data/joined_array.h"
#include "formats/data/text_tokens.h"

namespace mtfc {
namespace {

// Rows of one length in memory, those of `stored` followed by zeros.
StoredArray padded_rows(const StoredArray& stored, int64_t rows) {
  const StoredArray given = contiguous(stored);
  StoredArray padded = given;
  const int64_t size = size_of(given.type);
  padded.shape[0] = rows;
  int64_t bytes = size, given_bytes = size;
  for (const int64_t extent : padded.shape) bytes *= extent;
  for (const int64_t extent : given.shape) given_bytes *= extent;
  const auto data = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(bytes));
  std::memcpy(data->data(), given.data, static_cast<size_t>(given_bytes));
  padded.data = data->data();
  padded.owner = data;
  return padded;
}

// The only input of encode, which --source and --source-tokens are for.
const InputDecl& only_input(const Program& program) {
  const InputDecl& input = program.inputs.front();
  if (program.inputs.size() > 1 || input.type.dims.size() != 2 || !is_integer(input.type.dtype)) {
    std::vector<std::string> known;
    for (const InputDecl& each : program.inputs)
      known.push_back(fmt::format("'{}' of {}", each.name, to_string(each.type)));
    throw UserError(
        fmt::format(
            "--source and --source-tokens are for a model that reads one sequence of ids; this one reads {}",
            fmt::join(known, " and ")),
        "give its data with --input NAME=FILE.npy");
  }
  return input;
}

void require_fit(const Tokens& tokens, const InputDecl& input, const std::string& option) {
  if (tokens.empty()) throw UserError(fmt::format("{} is empty", option), "give at least one token");
  if (static_cast<int64_t>(tokens.size()) > input.type.dims[1].size)
    throw UserError(fmt::format("{} has {} tokens, but the input '{}' has room for {}", option, tokens.size(),
                                input.name, input.type.dims[1].size),
                    fmt::format("shorten it, or set {}", input.type.dims[1].name));
}

// The rows of the command line, filled up with zeros.
EncodeData given_rows(const Program& program, const SourceOptions& options) {
  const InputDecl& input = only_input(program);
  std::vector<Tokens> rows;
  for (const std::string& text : options.source_texts) {
    rows.push_back(tokens_of(text, options.tokenizer.get(), SpecialTokens::kAround));
    require_fit(rows.back(), input, "--source");
  }
  for (const std::string& ids : options.source_tokens) {
    rows.push_back(parse_tokens(ids, "--source-tokens"));
    require_fit(rows.back(), input, "--source-tokens");
  }
  const int64_t batch = input.type.dims[0].size, length = input.type.dims[1].size;
  const auto count = static_cast<int64_t>(rows.size());
  const auto numbers =
      std::make_shared<std::vector<int64_t>>(static_cast<size_t>(std::max(batch, count) * length), 0);
  for (size_t i = 0; i < rows.size(); ++i)
    std::copy(rows[i].begin(), rows[i].end(),
              numbers->begin() + static_cast<std::ptrdiff_t>(i) * static_cast<std::ptrdiff_t>(length));
  StoredArray array;
  array.file = options.source_texts.empty() ? "--source-tokens" : "--source";
  array.type = StoredType::kI64;
  array.shape = {std::max(batch, count), length};
  array.owner = numbers;
  array.data = reinterpret_cast<const std::byte*>(numbers->data());
  return {{{input.name, array.file, array, std::nullopt}}, count};
}

// Takes the rows that `data` names out of its array, where they do not exceed a batch, and fills it up. Returns how
// many there are, also where they do.
std::optional<int64_t> fill_up(InputData& data, const TensorType& type) {
  auto* array = std::get_if<StoredArray>(&data.source);
  bool has_rows = array && array->shape.size() == type.dims.size() && !array->shape.empty();
  for (size_t i = 1; has_rows && i < type.dims.size(); ++i) has_rows = array->shape[i] == type.dims[i].size;
  if (!has_rows) return std::nullopt;
  const auto [begin, end] = data.rows.value_or(std::pair<int64_t, int64_t>(0, array->shape[0]));
  const int64_t rows = end - begin;
  if (begin < 0 || end > array->shape[0] || rows < 1) return std::nullopt;
  if (rows > type.dims[0].size) return rows;
  int64_t row_bytes = size_of(array->type);
  for (size_t i = 1; i < array->shape.size(); ++i) row_bytes *= array->shape[i];
  array->data += begin * row_bytes;
  array->shape[0] = rows;
  data.rows.reset();
  *array = padded_rows(*array, type.dims[0].size);
  return rows;
}

const InputDecl& input_named(const Program& program, const std::string& name) {
  if (const InputDecl* input = find_named(program.inputs, name)) return *input;
  throw UserError(fmt::format("--input: generation does not read an input '{}'", name),
                  fmt::format("it reads '{}'", fmt::join(all_names(program.inputs), "' and '")));
}

}  // namespace

void check(const SourceOptions& options) {
  if (!options.source_texts.empty() && !options.source_tokens.empty())
    throw UserError("--source and --source-tokens exclude each other", "give one kind");
  if (options.source_count() > 0 && !options.inputs.empty())
    throw UserError("--input can't be mixed with --source or --source-tokens", "give one kind");
  require_one_each(options.inputs, "--input", "feeds");
}

void require_sources(const Model& model, const std::optional<Dim>& sequences, const SourceOptions& options) {
  const std::vector<InputDecl> inputs =
      model.decode->held.empty() ? std::vector<InputDecl>() : encode_inputs(model);
  if (inputs.empty() && options.has_sources())
    throw UserError(fmt::format("the model '{}' takes no input sequence", model.name),
                    "leave out --input, --source and --source-tokens, and give a prompt");
  for (const InputDecl& input : inputs)
    if (!sequences || input.type.dims.empty() || input.type.dims[0] != *sequences)
      throw UserError(
          fmt::format("the rows of the input '{}', {}, must lie along the dimension of the sequences{}",
                      input.name, to_string(input.type),
                      sequences ? fmt::format(", '{}'", sequences->name) : ", which decode lacks"));
  if (!inputs.empty() && !options.has_sources())
    throw UserError(
        fmt::format("there is no data for the input '{}' of the model '{}', which it reads before it "
                    "generates",
                    inputs[0].name, model.name),
        fmt::format("give --source-tokens 1,2,3 or --input {}=FILE.npy", inputs[0].name));
}

EncodeData open_sources(const Program& program, const SourceOptions& options) {
  if (options.source_count() > 0) return given_rows(program, options);
  EncodeData data;
  const NameLookup lookup = lookup_of(program.names);
  TextTokens texts(options.usual_tokenizer);
  for (const std::string& text : options.inputs) {
    const auto [name, spec] = split_assignment(text, "--input");
    const InputDecl& input = input_named(program, name);
    InputData found = read_input_data(
        {name, input.type.dtype, {"--input", 0, 0, ""}, input.type.dims, &texts}, spec, lookup);
    const std::optional<int64_t> rows = fill_up(found, input.type);
    if (rows && data.rows && *rows != *data.rows)
      throw RunError(fmt::format("--input: '{}' has {} rows, and another input has {}: they can't be paired",
                                 name, *rows, *data.rows));
    if (rows) data.rows = rows;
    data.inputs.push_back(std::move(found));
  }
  if (const EntryPoint* encode = program.find("encode")) require_data(*encode, data.inputs);
  return data;
}

int64_t rows_of(const EncodeData& data, const Feed& feed) {
  const std::optional<int64_t> walked = feed.evaluation_rows();
  if (walked && data.rows && *walked != *data.rows)
    throw RunError(fmt::format("--input: one input has {} rows, and another has {}: they can't be paired",
                               *data.rows, *walked));
  return walked ? *walked : data.rows.value_or(feed.batch());
}

}  // namespace mtfc
