#include "formats/hardware/rates_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>
#include <sstream>

#include "core/diagnostics/error.h"

namespace mtfc {
namespace {

using Words = std::vector<std::string>;

struct Line {
  int number;
  std::string text;
};

constexpr double kBytesOfElement = 2;  // bf16
constexpr double kHeadSize = 128;      // where a table does not say it

// A file while it is read.
struct RatesFile {
  const std::string& name;
  const RatesOptions& options;
  std::vector<Line> lines;  // without empty ones

  [[noreturn]] void fail(const Line& line, const std::string& message, const std::string& hint = "") const {
    throw UserError(message, hint, {name, line.number, 1, ""});
  }
};

std::vector<Line> lines_of(const std::string& text) {
  std::vector<Line> lines;
  std::istringstream stream(text);
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    if (line.find_first_not_of(" \t") != std::string::npos) lines.push_back({number, line});
  }
  return lines;
}

Words words_of(const std::string& text) {
  std::istringstream stream(text);
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

Words fields_of(const std::string& text) {
  Words fields;
  size_t begin = 0;
  for (;;) {
    const size_t end = std::min(text.find(',', begin), text.size());
    std::string field = text.substr(begin, end - begin);
    const size_t first = field.find_first_not_of(" \t\""), last = field.find_last_not_of(" \t\"");
    fields.push_back(first == std::string::npos ? "" : field.substr(first, last - first + 1));
    if (end == text.size()) return fields;
    begin = end + 1;
  }
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return text;
}

std::optional<double> number_in(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

double positive(const RatesFile& file, const Line& line, const std::string& text, const std::string& what) {
  const std::optional<double> value = number_in(text);
  if (!value || *value <= 0)
    file.fail(line, fmt::format("{} is '{}', which is no number above 0", what, text));
  return *value;
}

// Texts that name a collective, the longer ones first.
std::optional<CollectiveKind> collective_named(const std::string& text) {
  static const std::vector<std::pair<std::string, CollectiveKind>> kNames = {
      {"all_reduce", CollectiveKind::kAllReduce},
      {"allreduce", CollectiveKind::kAllReduce},
      {"reduce_scatter", CollectiveKind::kReduceScatter},
      {"reducescatter", CollectiveKind::kReduceScatter},
      {"all_gather", CollectiveKind::kAllGather},
      {"allgather", CollectiveKind::kAllGather},
      {"all_to_all", CollectiveKind::kAllToAll},
      {"alltoall", CollectiveKind::kAllToAll},
      {"sendrecv", CollectiveKind::kPermute},
      {"permute", CollectiveKind::kPermute}};
  const std::string small = lower(text);
  for (const auto& [name, kind] : kNames)
    if (small.find(name) != std::string::npos) return kind;
  return std::nullopt;
}

// The bytes that each of `devices` sends if `bytes` are those of the whole buffer, as nccl-tests count them.
double bytes_sent(CollectiveKind kind, double devices, double bytes) {
  if (kind == CollectiveKind::kPermute) return bytes;
  return (works_in_place(kind) ? 2 : 1) * bytes * (devices - 1) / devices;
}

// -- nccl-tests --

bool is_nccl(const std::vector<Line>& lines) {
  return std::any_of(lines.begin(), lines.end(), [](const Line& line) {
    return line.text.starts_with('#') && line.text.find("out-of-place") != std::string::npos;
  });
}

void read_nccl(const RatesFile& file, MeasuredRates& rates) {
  std::optional<CollectiveKind> kind = collective_named(std::filesystem::path(file.name).filename().string());
  int64_t ranks = 0;
  size_t time = 0;
  for (const Line& line : file.lines) {
    const Words words = words_of(line.text);
    if (words[0].starts_with('#')) {
      if (words.size() > 2 && words[1] == "Rank") ++ranks;
      if (line.text.find("_perf") != std::string::npos)
        if (const auto named = collective_named(line.text)) kind = named;
      if (words.size() > 2 && words[1] == "size")
        time = static_cast<size_t>(std::find(words.begin(), words.end(), "time") - words.begin()) - 1;
      continue;
    }
    if (!number_in(words[0])) continue;  // a line of a launcher
    const int64_t devices = ranks > 1 ? ranks : file.options.devices;
    if (!kind)
      file.fail(line, "the text does not say which collective it is of",
                "name the file as in all_reduce.txt");
    if (devices < 2)
      file.fail(line, "the text does not say how many devices there are", "give them as --devices N");
    if (time == 0 || words.size() <= time) file.fail(line, "the row has no time");
    const std::optional<double> size = number_in(words[0]);
    if (!size || *size <= 0) continue;
    rates.collectives.push_back({*kind, devices, bytes_sent(*kind, static_cast<double>(devices), *size),
                                 1e-6 * positive(file, line, words[time], "the time")});
  }
}

// -- OSU micro-benchmarks --

std::optional<Line> osu_title(const std::vector<Line>& lines) {
  for (const Line& line : lines)
    if (line.text.starts_with('#') && line.text.find("OSU MPI") != std::string::npos) return line;
  return std::nullopt;
}

// They count the bytes of one message, or of the whole buffer of a reduction.
double osu_bytes_sent(CollectiveKind kind, double devices, double bytes) {
  if (kind == CollectiveKind::kAllGather || kind == CollectiveKind::kAllToAll) return (devices - 1) * bytes;
  return bytes_sent(kind, devices, bytes);
}

// The word of a title that names the benchmark: `allreduce` of `# OSU MPI Allreduce Latency Test v7.1`.
std::string osu_benchmark(const Line& title) {
  const Words words = words_of(lower(title.text));
  for (size_t i = 0; i + 1 < words.size(); ++i)
    if (words[i].starts_with("mpi")) return words[i + 1];
  return "";
}

void read_osu(const RatesFile& file, const Line& title, MeasuredRates& rates) {
  const std::string benchmark = osu_benchmark(title);
  const bool is_bandwidth = benchmark == "bandwidth", is_pair = is_bandwidth || benchmark == "latency";
  const std::optional<CollectiveKind> kind = is_pair ? CollectiveKind::kPermute : collective_named(benchmark);
  const int64_t devices = is_pair ? 2 : file.options.devices;
  if (!kind)
    file.fail(title, "this OSU benchmark is of nothing that a profile has",
              "latency, bandwidth, allreduce, allgather, reduce_scatter and alltoall are");
  if (devices < 2)
    file.fail(title, "an OSU text does not say how many ranks there were", "give them as --devices N");
  for (const Line& line : file.lines) {
    const Words words = words_of(line.text);
    const std::optional<double> size = number_in(words[0]);
    if (!size || *size <= 0) continue;
    if (words.size() < 2) file.fail(line, "the row has a size and no value");
    const double value = positive(file, line, words[1], "the value");
    rates.collectives.push_back({*kind, devices, osu_bytes_sent(*kind, static_cast<double>(devices), *size),
                                 is_bandwidth ? *size / (1e6 * value) : 1e-6 * value});
  }
}

// -- CSV --

// A row of a CSV file, by the names of its columns.
class RateRow {
 public:
  RateRow(const RatesFile& file, const Words& columns, const Line& line)
      : file_(file), columns_(columns), line_(line), fields_(fields_of(line.text)) {
    if (fields_.size() != columns.size())
      file.fail(line, fmt::format("the row has {} fields, but there are {} columns", fields_.size(),
                                  columns.size()));
  }

  const Line& line() const { return line_; }
  bool has(const std::string& column) const {
    return std::find(columns_.begin(), columns_.end(), column) != columns_.end();
  }
  // "" if there is no such column.
  std::string text(const std::string& column) const {
    const auto at = std::find(columns_.begin(), columns_.end(), column);
    return at == columns_.end() ? "" : fields_[static_cast<size_t>(at - columns_.begin())];
  }
  double number(const std::string& column) const {
    return positive(file_, line_, text(column), fmt::format("the column '{}'", column));
  }
  double number_or(const std::string& column, double otherwise) const {
    return has(column) ? number(column) : otherwise;
  }
  // The shortest of all times of the row; 0 if it has none.
  double seconds() const {
    double shortest = 0;
    for (size_t i = 0; i < columns_.size(); ++i) {
      const std::string unit = columns_[i].substr(0, columns_[i].find('_'));
      const double factor = unit == "us" ? 1e-6 : unit == "ms" ? 1e-3 : unit == "seconds" ? 1 : 0;
      if (factor == 0 || fields_[i].empty()) continue;
      const double time = factor * number(columns_[i]);
      shortest = shortest == 0 ? time : std::min(shortest, time);
    }
    return shortest;
  }
  bool is_kept() const {
    return std::all_of(file_.options.only.begin(), file_.options.only.end(),
                       [&](const auto& only) { return !has(only.first) || text(only.first) == only.second; });
  }

 private:
  const RatesFile& file_;
  const Words& columns_;
  const Line& line_;
  Words fields_;
};

void add_kernel(const RateRow& row, const std::string& kernel, MeasuredKernel made, MeasuredRates& rates) {
  made.seconds = row.seconds();
  if (made.seconds == 0 && !row.text("share").empty()) made.share = row.number("share");
  if (made.seconds > 0 || made.share > 0) rates.kernels[kernel].push_back(std::move(made));
}

void add_product(const RateRow& row, MeasuredRates& rates) {
  const double b = row.number_or("b", 1), m = row.number("m"), n = row.number("n"), k = row.number("k");
  const bool is_widened = row.text("out_dtype") == "fp32" || row.text("out_dtype") == "f32";
  add_kernel(row,
             b > 1        ? "batched_einsum"
             : is_widened ? "widened_einsum"
                          : "einsum",
             {{m, n, k},
              2 * b * m * n * k,
              b * (kBytesOfElement * (m * k + k * n) + (is_widened ? 4 : kBytesOfElement) * m * n)},
             rates);
}

// Causal, as training and the first pass of an answer are.
void add_attention_row(const RateRow& row, MeasuredRates& rates) {
  const double batch = row.number("batch"), length = row.number("seq"), heads = row.number("heads");
  const double memories = row.number_or("kv_heads", heads), size = row.number_or("head_dim", kHeadSize);
  add_kernel(row, "attention",
             {{length, batch * heads, heads / memories},
              4 * size * batch * heads * length * (length + 1) / 2,
              kBytesOfElement * 2 * size * batch * length * (heads + memories)},
             rates);
}

void add_collective_row(const RatesFile& file, const RateRow& row, MeasuredRates& rates) {
  const std::optional<CollectiveKind> kind = collective_named(row.text("collective"));
  if (!kind) file.fail(row.line(), fmt::format("'{}' is no collective of a profile", row.text("collective")));
  const double devices = row.number("gpus");
  if (devices < 2) file.fail(row.line(), "a collective needs at least two devices");
  if (const double seconds = row.seconds(); seconds > 0)
    rates.collectives.push_back(
        {*kind, std::llround(devices), bytes_sent(*kind, devices, row.number("bytes")), seconds});
}

// Rows of several machines make no profile.
void require_one_machine(const RatesFile& file, const Line& head, const std::vector<RateRow>& rows) {
  for (const char* column : {"gpu", "device", "system", "cloud", "environment"}) {
    std::set<std::string> values;
    for (const RateRow& row : rows) values.insert(row.text(column));
    if (values.size() > 1)
      file.fail(head,
                fmt::format("the rows are of several machines, by the column '{}': {}", column,
                            fmt::join(values, ", ")),
                fmt::format("--rows {}={} keeps those of one", column, *values.begin()));
  }
}

void read_csv_rates(const RatesFile& file, MeasuredRates& rates) {
  const auto head = std::find_if(file.lines.begin(), file.lines.end(),
                                 [](const Line& line) { return !line.text.starts_with('#'); });
  if (head == file.lines.end()) throw UserError(fmt::format("{}: the file has no rows", file.name));
  const Words columns = fields_of(head->text);
  const auto has = [&](std::initializer_list<const char*> names) {
    return std::all_of(names.begin(), names.end(), [&](const char* name) {
      return std::find(columns.begin(), columns.end(), name) != columns.end();
    });
  };
  const bool products = has({"m", "n", "k"}), attention = has({"batch", "seq", "heads"}),
             collectives = has({"collective", "gpus", "bytes"});
  if (!products && !attention && !collectives)
    file.fail(*head, "the file is no table of rates that mtfc knows",
              "it knows texts of nccl-tests and of OSU benchmarks, and CSV with the columns m,n,k or "
              "batch,seq,heads "
              "or collective,gpus,bytes and us, ms, seconds or share");
  std::vector<RateRow> rows;
  for (auto line = head + 1; line != file.lines.end(); ++line)
    if (RateRow row(file, columns, *line); row.is_kept()) rows.push_back(std::move(row));
  require_one_machine(file, *head, rows);
  for (const RateRow& row : rows) {
    if (products)
      add_product(row, rates);
    else if (attention)
      add_attention_row(row, rates);
    else
      add_collective_row(file, row, rates);
  }
}

// The first line if it is a comment, up to its first semicolon; or else the name of the file.
std::string source_of(const RatesFile& file) {
  const std::string& first = file.lines[0].text;
  const size_t begin = first.find_first_not_of("# \t");
  if (!first.starts_with('#') || begin == std::string::npos)
    return std::filesystem::path(file.name).filename().string();
  return first.substr(begin, first.find(';') - begin);
}

size_t rows_in(const MeasuredRates& rates, const std::string& part) {
  if (part.empty()) return rates.collectives.size();
  const auto at = rates.kernels.find(part);
  return at == rates.kernels.end() ? 0 : at->second.size();
}

}  // namespace

void read_rates(const std::string& text, const std::string& file, const RatesOptions& options,
                MeasuredRates& rates) {
  const RatesFile reading{file, options, lines_of(text)};
  if (reading.lines.empty()) throw UserError(fmt::format("{}: the file is empty", file));
  MeasuredRates read;
  if (is_nccl(reading.lines))
    read_nccl(reading, read);
  else if (const std::optional<Line> title = osu_title(reading.lines))
    read_osu(reading, *title, read);
  else
    read_csv_rates(reading, read);
  if (read.kernels.empty() && read.collectives.empty())
    throw UserError(fmt::format("{}: no row is of any use", file),
                    options.only.empty() ? "" : "--rows may keep none of them");
  const std::string source = source_of(reading);
  std::vector<std::string> parts = {""};
  for (auto& [kernel, rows] : read.kernels) {
    parts.push_back(kernel);
    auto& all = rates.kernels[kernel];
    all.insert(all.end(), rows.begin(), rows.end());
  }
  rates.collectives.insert(rates.collectives.end(), read.collectives.begin(), read.collectives.end());
  for (const std::string& part : parts) {
    if (rows_in(read, part) == 0) continue;
    std::string& known = rates.sources[part];
    if (known.find(source) == std::string::npos) known += (known.empty() ? "" : "; ") + source;
  }
}

}  // namespace mtfc
