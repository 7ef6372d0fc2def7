#include "formats/report/trace_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/cost/cost.h"
#include "formats/json/ordered_json.h"

namespace mtfc {
namespace {

constexpr size_t kPiece = size_t{1} << 16;

std::string quoted(const std::string& text) {
  return Json(text).dump();
}

// `add, relu`: the operations of a fused step, each once.
std::string parts_text(const Step& step) {
  std::vector<std::string> seen;
  std::string text;
  for (const Step& part : step.members()) {
    const std::string kind = kind_of(part);
    if (std::find(seen.begin(), seen.end(), kind) != seen.end()) continue;
    seen.push_back(kind);
    text += (text.empty() ? "" : ", ") + kind;
  }
  return text;
}

std::string label(const Step& step) {
  const char* moment = step.kind() == StepKind::kStart  ? "start "
                       : step.kind() == StepKind::kWait ? "wait "
                                                        : "";
  return fmt::format("{}{} {}", moment, kind_of(step), step.name);
}

// The text that is the same in every run of a step.
struct StepText {
  std::string name;  // quoted
  std::string category;
  std::string collective;  // quoted, for a start or a wait
  std::string source;      // the arguments, without numbers
};

StepText text_of(const Step& step) {
  StepText text;
  text.name = quoted(label(step));
  const bool communicates = step.kind() == StepKind::kStart || step.kind() == StepKind::kWait;
  text.category = communicates ? "collective" : is_control(step.kind()) ? "loop" : "kernel";
  if (communicates) text.collective = quoted(kind_of(step) + " " + step.name);
  text.source = fmt::format("\"source\":{},\"phase\":\"{}\"", quoted(step.source), to_string(step.phase));
  if (step.kind() == StepKind::kFused)
    text.source += fmt::format(",\"operations\":{}", quoted(parts_text(step)));
  return text;
}

class TraceWriter {
 public:
  TraceWriter(const Program& program, const std::function<void(std::string_view)>& sink)
      : program_(program), sink_(sink) {
    for (const EntryPoint& entry : program.entry_points) {
      texts_.emplace_back();
      for (const Step& step : entry.steps) texts_.back().push_back(text_of(step));
    }
  }

  void write(const std::vector<DeviceTimeline>& devices) {
    zero_ = earliest(devices);
    text_ = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
    for (size_t rank = 0; rank < devices.size(); ++rank) {
      add_process(rank);
      for (const TimedRun& run : devices[rank].runs) add_run(rank, run, devices[rank].work[run.entry]);
    }
    text_ += "\n]}\n";
    sink_(text_);
  }

 private:
  static int64_t earliest(const std::vector<DeviceTimeline>& devices) {
    int64_t zero = INT64_MAX;
    for (const DeviceTimeline& device : devices)
      if (!device.runs.empty()) zero = std::min(zero, device.runs.front().span.begin);
    return zero;
  }

  template <typename... Arguments>
  void add(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    text_ += first_ ? "\n" : ",\n";
    first_ = false;
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
    if (text_.size() < kPiece) return;
    sink_(text_);
    text_.clear();
  }

  void add_process(size_t rank) {
    const Mesh& mesh = program_.mesh();
    const Coordinates at = mesh.coordinates(static_cast<int64_t>(rank));
    std::string place;
    for (size_t i = 0; i < at.size(); ++i)
      place += fmt::format("{}{}={}", i == 0 ? "" : ",", mesh.axes()[i].name, at[i]);
    const std::string name = fmt::format("rank {}{}", rank, place.empty() ? "" : " (" + place + ")");
    add(R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":{}}}}})", rank, quoted(name));
    add(R"({{"ph":"M","pid":{},"name":"process_sort_index","args":{{"sort_index":{}}}}})", rank, rank);
    add(R"({{"ph":"M","pid":{},"tid":0,"name":"thread_name","args":{{"name":"steps"}}}})", rank);
  }

  double microseconds(int64_t time) const { return static_cast<double>(time - zero_) * 1e-3; }
  static double length(const TimeSpan& span) { return static_cast<double>(span.end - span.begin) * 1e-3; }

  void add_run(size_t rank, const TimedRun& run, const std::vector<StepWork>& work) {
    const EntryPoint& entry = program_.entry_points[run.entry];
    // Initial values are made once and belong to no training step.
    const std::string name =
        entry.name == "init" ? entry.name : fmt::format("{} step {}", entry.name, run.train_step + 1);
    add(R"({{"ph":"X","pid":{},"tid":0,"ts":{:.3f},"dur":{:.3f},"cat":"run","name":{}}})", rank,
        microseconds(run.span.begin), length(run.span), quoted(name));
    for (size_t s = 0; s < entry.steps.size(); ++s) {
      const StepText& text = texts_[run.entry][s];
      const TimeSpan& span = run.steps[s];
      if (span.begin < run.span.begin) continue;
      add(R"({{"ph":"X","pid":{},"tid":0,"ts":{:.3f},"dur":{:.3f},"cat":"{}","name":{},)"
          R"("args":{{{},"flops":{},"bytes":{}}}}})",
          rank, microseconds(span.begin), length(span), text.category, text.name, text.source, work[s].flops,
          work[s].bytes);
      const auto* wait = entry.steps[s].as<AwaitCollective>();
      if (!wait) continue;
      const size_t started = wait->start.index();
      add_collective(rank, texts_[run.entry][started], work[started], {run.steps[started].begin, span.end});
    }
  }

  void add_collective(size_t rank, const StepText& text, const StepWork& work, const TimeSpan& span) {
    ++collectives_;
    add(R"({{"ph":"b","pid":{},"tid":0,"ts":{:.3f},"cat":"collective","id":{},"name":{},)"
        R"("args":{{{},"bytes":{}}}}})",
        rank, microseconds(span.begin), collectives_, text.collective, text.source, work.bytes);
    add(R"({{"ph":"e","pid":{},"tid":0,"ts":{:.3f},"cat":"collective","id":{},"name":{}}})", rank,
        microseconds(span.end), collectives_, text.collective);
  }

  const Program& program_;
  const std::function<void(std::string_view)>& sink_;
  std::vector<std::vector<StepText>> texts_;  // by entry point and step
  std::string text_;
  bool first_ = true;
  int64_t zero_ = 0;
  int64_t collectives_ = 0;
};

}  // namespace

void write_trace(const Program& program, const std::vector<DeviceTimeline>& devices,
                 const std::function<void(std::string_view)>& sink) {
  TraceWriter(program, sink).write(devices);
}

}  // namespace mtfc
