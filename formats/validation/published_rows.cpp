#include "formats/validation/published_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/compile/pipeline.h"
#include "core/diagnostics/suggest.h"
#include "formats/data/csv_reader.h"
#include "formats/json/schema_parts.h"

namespace mtfc {
namespace {

using namespace schema_parts;

std::string shown(double number) {
  return fmt::format("{}", number);
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (size_t begin = text.find_first_not_of(' '); begin != std::string::npos;) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(' ', end);
  }
  return words;
}

std::optional<int64_t> whole_of(const std::string& text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

template <auto Member>
RowColumn text_column(std::string_view name, std::string_view doc) {
  return {name, doc, text(),
          [](PublishedRow& row, const std::string& field) {
            row.*Member = field;
            return std::string();
          },
          [](const PublishedRow& row) { return row.*Member; }};
}

template <auto Member>
RowColumn count_column(std::string_view name, std::string_view doc, int64_t least, int64_t most) {
  return {name, doc, any_whole(),
          [least, most](PublishedRow& row, const std::string& field) {
            const std::optional<int64_t> number = whole_of(field);
            if (!number || *number < least || *number > most)
              return fmt::format("expected a whole number from {} to {}", least, most);
            row.*Member = *number;
            return std::string();
          },
          [](const PublishedRow& row) { return std::to_string(row.*Member); }};
}

template <auto Member>
RowColumn amount_column(std::string_view name, std::string_view doc) {
  return {name, doc, real(),
          [](PublishedRow& row, const std::string& field) {
            double number = 0;
            const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), number);
            if (error != std::errc() || end != field.data() + field.size() || !std::isfinite(number) ||
                number < 0)
              return std::string("expected a number from 0 on");
            row.*Member = number;
            return std::string();
          },
          [](const PublishedRow& row) { return row.*Member ? shown(*(row.*Member)) : ""; }};
}

template <auto Member>
RowColumn name_column(std::string_view name, std::string_view doc) {
  using Enum = std::remove_cvref_t<decltype(PublishedRow().*Member)>;
  return {name, doc, name_of<Enum>(),
          [](PublishedRow& row, const std::string& field) {
            const std::optional<Enum> value = value_named<Enum>(field);
            const std::vector<std::string> names = enum_names<Enum>();
            if (!value) {
              const std::string near = did_you_mean(field, names);
              return fmt::format("expected one of {}{}", fmt::join(names, ", "),
                                 near.empty() ? "" : " (" + near + ")");
            }
            row.*Member = *value;
            return std::string();
          },
          [](const PublishedRow& row) { return to_string(row.*Member); }};
}

RowColumn set_column() {
  return {"set",
          "params and sizes of dimensions, as --set takes them, with blanks between them; `batch` is that "
          "of all devices and microbatches",
          text(),
          [](PublishedRow& row, const std::string& field) {
            row.set = words_of(field);
            for (const std::string& word : row.set)
              if (word.find('=') == std::string::npos || word.front() == '=')
                return fmt::format("'{}' is not of the form NAME=VALUE", word);
            return std::string();
          },
          [](const PublishedRow& row) { return fmt::format("{}", fmt::join(row.set, " ")); }};
}

RowColumn sequence_column() {
  return {"sequence_parallel",
          "yes: between products that are split over devices, activations are split along the "
          "sequence (default: no)",
          Json{{"enum", {"yes", "no"}}},
          [](PublishedRow& row, const std::string& field) {
            if (field != "yes" && field != "no") return std::string("expected yes or no");
            row.sequence_parallel = field == "yes";
            return std::string();
          },
          [](const PublishedRow& row) { return std::string(row.sequence_parallel ? "yes" : "no"); }};
}

RowColumn stages_column() {
  return {
      "stages",
      "how many stages a pipeline has, or the layers of each with blanks between them (default: 1). The last "
      "may have none, but the head",
      text(),
      [](PublishedRow& row, const std::string& field) {
        row.stages.clear();
        for (const std::string& word : words_of(field)) {
          const std::optional<int64_t> number = whole_of(word);
          if (!number || *number < 0 || *number > 1'000'000)
            return fmt::format("'{}' is no number of stages and none of layers", word);
          row.stages.push_back(*number);
        }
        if (row.stages.empty()) return std::string("expected a number");
        return std::string(row.stages == std::vector<int64_t>{0} ? "expected a stage" : "");
      },
      [](const PublishedRow& row) { return fmt::format("{}", fmt::join(row.stages, " ")); }};
}

RowColumn passes_column() {
  return {"without_passes",
          "passes of the compiler that are left out, as by --without-pass, with blanks between them: the "
          "software that ran the row does nothing like them",
          text(),
          [](PublishedRow& row, const std::string& field) {
            row.without_passes = words_of(field);
            const std::vector<std::string>& known = improving_passes();
            for (const std::string& word : row.without_passes) {
              if (std::find(known.begin(), known.end(), word) != known.end()) continue;
              const std::string near = did_you_mean(word, known);
              return fmt::format("'{}' is no pass that can be left out{}", word,
                                 near.empty() ? "" : " (" + near + ")");
            }
            return std::string();
          },
          [](const PublishedRow& row) { return fmt::format("{}", fmt::join(row.without_passes, " ")); }};
}

constexpr int64_t kMost = 1'000'000'000;

const std::vector<RowColumn> kColumns = {
    text_column<&PublishedRow::id>("id", "names the row in its source"),
    text_column<&PublishedRow::source>("source", "who published the run; errors are summed up by source"),
    name_column<&PublishedRow::kind>(
        "kind",
        "measured (the default); derived, by arithmetic from measured figures; or simulated, which enters "
        "no total"),
    text_column<&PublishedRow::model>("model",
                                      "the name of a bundled model or family, or a file as MODEL of "
                                      "cost-report"),
    set_column(),
    text_column<&PublishedRow::dtype>("dtype",
                                      "f32 (the default), bf16 or f64, as --dtype takes it; f16 counts as "
                                      "bf16"),
    text_column<&PublishedRow::gradients>("gradients",
                                          "the dtype in which gradients are added over devices "
                                          "(default: as `dtype` has it)"),
    name_column<&PublishedRow::held_gradients>(
        "held_gradients",
        "the dtype in which the software holds the gradients of a microbatch for all parameters of a device "
        "beside their sums: none (the default, each is added as it comes), bf16 or f32"),
    text_column<&PublishedRow::hardware>("hardware", "the name of a hardware profile"),
    count_column<&PublishedRow::devices>("devices", "of all stages", 1, kMost),
    text_column<&PublishedRow::mesh>("mesh", "of one stage, as in data:8,model:2"),
    text_column<&PublishedRow::layout>("layout", "as --layout takes it"),
    count_column<&PublishedRow::zero>("zero", "the stage of ZeRO", 0, 3),
    count_column<&PublishedRow::microbatches>("microbatches", "of a step, on each device (default: 1)", 1,
                                              kMost),
    name_column<&PublishedRow::recompute>(
        "recompute",
        "what the backward pass computes again: none (the default), selective (the scores of "
        "attention), full (each layer, as far as it is needed), whole (each layer to its end) or refetched "
        "(likewise, and parameters are gathered a third time)"),
    passes_column(),
    name_column<&PublishedRow::reduction>(
        "reduction",
        "of the gradients of several microbatches: after the last one (the default), or in_last, beside its "
        "backward pass"),
    amount_column<&PublishedRow::software_s>(
        "software_s",
        "the seconds of a step in which the software does what no program of "
        "mtfc does, by a rule that the source's comment states"),
    sequence_column(),
    count_column<&PublishedRow::workspace_bytes>(
        "workspace_bytes",
        "that the software of the run allocates on a device beside the tensors of the program, such as "
        "workspaces of libraries (default: 0)",
        0, 1'000'000'000'000),
    stages_column(),
    text_column<&PublishedRow::schedule>("schedule", "of the stages: 1f1b (the default)"),
    count_column<&PublishedRow::chunks>("chunks", "of layers that each stage has (interleaving; default: 1)",
                                        1, kMost),
    text_column<&PublishedRow::group>("group",
                                      "rows with the same do the same work on as many devices, and are "
                                      "ranked"),
    name_column<&PublishedRow::status>("status",
                                       "ok (the default), oom (out of memory), or failed for a reason that "
                                       "is not known"),
    name_column<&PublishedRow::part>(
        "part",
        "that `seconds` are of: a step (the default), or a microbatch on one layer, "
        "forward and backward"),
    amount_column<&PublishedRow::seconds>("seconds", "of a step, or of its part"),
    amount_column<&PublishedRow::memory_bytes>("memory_bytes", "of a device, at the peak"),
    name_column<&PublishedRow::memory_kind>("memory_kind",
                                            "allocated for tensors (the default), or reserved by the "
                                            "allocator"),
    name_column<&PublishedRow::stage>("stage",
                                      "whose memory it is: the largest (the default), the first or the last"),
    amount_column<&PublishedRow::repeat_sd>("repeat_sd",
                                            "the standard deviation of `seconds` over repetitions"),
    text_column<&PublishedRow::split>("split",
                                      "train for rows that constants may be fitted on, or another word"),
    text_column<&PublishedRow::needs>("needs",
                                      "features without which the run can't be expressed, with ; between "
                                      "them; the row is then refused by the first"),
    text_column<&PublishedRow::note>("note", "what is assumed"),
};

const RowColumn& column_named(const std::string& name, const Location& location) {
  const RowColumn* column = find_named(kColumns, name);
  if (!column)
    throw UserError(fmt::format("rows have no column '{}'", name), did_you_mean(name, all_names(kColumns)),
                    location);
  return *column;
}

}  // namespace

std::span<const RowColumn> row_columns() {
  return kColumns;
}

std::vector<PublishedRow> read_published_rows(const DataFile& file) {
  std::vector<PublishedRow> rows;
  std::vector<Diagnostic> errors;
  std::vector<const RowColumn*> order;  // of the columns of the file
  size_t next = 0;
  const auto visit = [&](const CsvField& field) {
    const Location location{file.name, static_cast<int>(field.line), 0, ""};
    if (rows.empty() || rows.back().location.line != location.line) {
      rows.emplace_back();
      rows.back().location = location;
      next = 0;
    }
    if (rows.size() == 1) {
      const RowColumn& named = column_named(field.column, {file.name, 0, 0, ""});
      if (std::find(order.begin(), order.end(), &named) != order.end())
        throw UserError(fmt::format("there are several columns '{}'", field.column), "",
                        {file.name, 0, 0, ""});
      order.push_back(&named);
    }
    const RowColumn& column = *order[next++];
    if (field.text.empty()) return;
    const std::string text(field.text), problem = column.read(rows.back(), text);
    if (!problem.empty())
      errors.push_back(
          {location, fmt::format("column '{}': {}, found '{}'", field.column, problem, text), ""});
  };
  try {
    read_csv_fields(file, {"*"}, visit, CsvComments::kAllowed);
  } catch (const RunError& error) {
    throw UserError(error.what());
  }
  if (!errors.empty()) throw UserError(std::move(errors));
  return rows;
}

bool RowFilter::matches(const PublishedRow& row) const {
  return fnmatch(value.c_str(), column->text(row).c_str(), 0) == 0;
}

RowFilter parse_row_filter(const std::string& text, const std::string& option) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos)
    throw UserError(fmt::format("{}: '{}' is not of the form COLUMN=VALUE", option, text),
                    "as in split=train");
  return {&column_named(text.substr(0, equals), {option, 0, 0, ""}), text.substr(equals + 1)};
}

std::string rows_schema() {
  Json properties = Json::object();
  for (const RowColumn& column : kColumns)
    properties[std::string(column.name) + "?"] = with_description(column.schema, std::string(column.doc));
  return output_schema("rows of published runs",
                       "The columns of the CSV files that mtfc validate reads. Each may be missing or empty.",
                       record(properties));
}

}  // namespace mtfc
