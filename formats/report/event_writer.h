#pragma once
// The event files of TensorBoard: a sequence of records, each a serialized protobuf message `Event`.
//
//   record   length (8 bytes), checksum of the length (4), message, checksum of the message (4), little-endian
//   Event    wall_time = 1, step = 2, and one of file_version = 3, summary = 5, session_log = 7
//
// The messages are those of tensorflow/core/util/event.proto and framework/summary.proto. A reader that meets the start
// of a session forgets what earlier files say about its step and later ones.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/report/metrics_writer.h"

namespace mtfc {

/// Stands before the names of means over data of an evaluation.
inline constexpr std::string_view kEvaluationTag = "eval/";

/// The moment of an event: seconds since 1970, and the number of steps made.
struct EventTime {
  double wall_time = 0;
  int64_t step = 0;
};

/// The first records of a file whose events are about `time.step` and later steps.
std::string event_file_beginning(const EventTime& time);
/// The record of numbers under their names, as f32.
std::string scalars_record(const EventTime& time, const std::vector<NamedNumber>& scalars);

/// The CRC-32C (Castagnoli) of the bytes, which the checksums of records are made from.
uint32_t crc32c(std::string_view bytes);

}  // namespace mtfc
