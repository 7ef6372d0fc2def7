#pragma once
// Rows of training runs that others have measured or simulated, as `mtfc validate` reads them: CSV (RFC 4180) with a
// line of column names. Lines that begin with # are comments. A column may be missing; its field is then the default.
//
//   # Narayanan et al. 2021, table 1
//   id,source,model,set,dtype,hardware,devices,mesh,layout,microbatches,seconds
//   gpt-1.7b,narayanan,gpt2,layers=24 d_model=2304 heads=24 batch=512,bf16,a100-80g,32,data:32,batch:data,16,3.53

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/diagnostics/enum_names.h"
#include "core/diagnostics/error.h"
#include "formats/data/data_file.h"
#include "formats/json/ordered_json.h"

namespace mtfc {

enum class RowKind { kMeasured, kDerived, kSimulated };
template <>
inline constexpr auto kEnumNames<RowKind> = std::to_array<EnumName<RowKind>>(
    {{RowKind::kMeasured, "measured"}, {RowKind::kDerived, "derived"}, {RowKind::kSimulated, "simulated"}});

/// `kFailed`: the run ended without a result, and nobody says whether memory was the reason.
enum class RowStatus { kOk, kOutOfMemory, kFailed };
template <>
inline constexpr auto kEnumNames<RowStatus> = std::to_array<EnumName<RowStatus>>(
    {{RowStatus::kOk, "ok"}, {RowStatus::kOutOfMemory, "oom"}, {RowStatus::kFailed, "failed"}});

/// Memory is measured as the bytes that an allocator has given to tensors, or those that it has taken from the device.
enum class RowMemory { kAllocated, kReserved };
template <>
inline constexpr auto kEnumNames<RowMemory> = std::to_array<EnumName<RowMemory>>(
    {{RowMemory::kAllocated, "allocated"}, {RowMemory::kReserved, "reserved"}});

/// The reductions of gradients that run beside kernels. mtfc reduces the gradients of several microbatches after the
/// last one; other software, while the last one's backward pass runs.
enum class RowReduction { kAfter, kInLast };
template <>
inline constexpr auto kEnumNames<RowReduction> = std::to_array<EnumName<RowReduction>>(
    {{RowReduction::kAfter, "after"}, {RowReduction::kInLast, "in_last"}});

/// `kFull`: each layer as far as the backward pass needs it. `kWhole`: each layer to its end, as its last product.
/// `kRefetched`: likewise, after which the backward pass gathers the parameters once more.
enum class RowRecompute { kNone, kSelective, kFull, kWhole, kRefetched };
template <>
inline constexpr auto kEnumNames<RowRecompute> =
    std::to_array<EnumName<RowRecompute>>({{RowRecompute::kNone, "none"},
                                           {RowRecompute::kSelective, "selective"},
                                           {RowRecompute::kFull, "full"},
                                           {RowRecompute::kWhole, "whole"},
                                           {RowRecompute::kRefetched, "refetched"}});

/// Gradients of a microbatch that a device holds for all of its parameters at once, beside their sums: frameworks make
/// tensors of them before they add them up, where a program adds each gradient as it comes.
enum class RowHeldGradients { kNone, kBF16, kF32 };
template <>
inline constexpr auto kEnumNames<RowHeldGradients> = std::to_array<EnumName<RowHeldGradients>>(
    {{RowHeldGradients::kNone, "none"}, {RowHeldGradients::kBF16, "bf16"}, {RowHeldGradients::kF32, "f32"}});

/// The stage of a pipeline whose memory a row states: the one that needs most, or the first or last.
enum class RowStage { kLargest, kFirst, kLast };
template <>
inline constexpr auto kEnumNames<RowStage> = std::to_array<EnumName<RowStage>>(
    {{RowStage::kLargest, "largest"}, {RowStage::kFirst, "first"}, {RowStage::kLast, "last"}});

/// The time of a row is that of a step, or of a microbatch on one layer, forward and backward: without embedding, head
/// and update.
enum class RowExtent { kStep, kLayer };
template <>
inline constexpr auto kEnumNames<RowExtent> =
    std::to_array<EnumName<RowExtent>>({{RowExtent::kStep, "step"}, {RowExtent::kLayer, "layer"}});

/// The model of a run, and the conventions of the software that ran it.
struct RowModel {
  std::string model;
  std::vector<std::string> set;  // NAME=VALUE
  std::string dtype = "f32";
  std::string gradients;  // "": as `dtype` has them
  RowHeldGradients held_gradients = RowHeldGradients::kNone;
  RowRecompute recompute = RowRecompute::kNone;
  std::vector<std::string> without_passes;  // that the software has no counterpart of
  RowReduction reduction = RowReduction::kAfter;
  std::optional<double> software_s;  // of a step, for what no program of mtfc does
  int64_t workspace_bytes = 0;       // beside the tensors of the program
};

/// The devices of a run, and how they share the work.
struct RowLayout {
  std::string hardware;
  int64_t devices = 1;
  std::string mesh;  // of one stage
  std::string layout;
  int64_t zero = 0;
  int64_t microbatches = 1;
  bool sequence_parallel = false;
  std::vector<int64_t> stages = {1};  // how many there are; or the layers of each
  std::string schedule = "1f1b";
  int64_t chunks = 1;  // of each stage (interleaving)

  int64_t stage_count() const {
    return stages.size() == 1 ? stages.front() : static_cast<int64_t>(stages.size());
  }
};

/// How a run ended, and what was measured.
struct RowFigures {
  RowStatus status = RowStatus::kOk;
  RowExtent part = RowExtent::kStep;
  std::optional<double> seconds;
  std::optional<double> memory_bytes;
  RowMemory memory_kind = RowMemory::kAllocated;
  RowStage stage = RowStage::kLargest;
  std::optional<double> repeat_sd;  // of `seconds`
};

struct PublishedRow : RowModel, RowLayout, RowFigures {
  std::string id;
  std::string source;
  RowKind kind = RowKind::kMeasured;
  std::string group;
  std::string split;
  std::string needs;  // features that mtfc lacks, with `;` between them
  std::string note;
  Location location;
};

/// A column of such files.
struct RowColumn {
  std::string_view name;
  std::string_view doc;
  Json schema;  // of its fields
  /// Sets the field from a text that is not empty. Returns "" or how the text is wrong.
  std::function<std::string(PublishedRow& row, const std::string& text)> read;
  std::function<std::string(const PublishedRow& row)> text;  // by which filters find rows
};
std::span<const RowColumn> row_columns();

/// Throws UserError with file, line and column for what is no such row.
std::vector<PublishedRow> read_published_rows(const DataFile& file);

/// COLUMN=VALUE, as in split=train. The value may be a pattern of the shell, as in mesh=*model:[1248].
struct RowFilter {
  const RowColumn* column = nullptr;
  std::string value;
  bool matches(const PublishedRow& row) const;
};
/// Throws UserError for another text; `option` names it in the message.
RowFilter parse_row_filter(const std::string& text, const std::string& option);

/// The JSON Schema of a row, with the name and the meaning of each column.
std::string rows_schema();

}  // namespace mtfc
