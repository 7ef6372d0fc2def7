#include "formats/report/event_writer.h"

#include <array>
#include <protozero/pbf_writer.hpp>

namespace mtfc {
namespace {

// The numbers of the fields, and the one value of SessionLog.SessionStatus that is needed.
enum EventField { kEventTime = 1, kEventStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7 };
enum SummaryField { kSummaryValue = 1, kValueTag = 1, kSimpleValue = 2 };
enum SessionField { kSessionStatus = 1 };
constexpr int32_t kSessionStart = 1;
constexpr const char* kEventFileVersion = "brain.Event:2";

constexpr std::array<uint32_t, 256> crc32c_table() {
  constexpr uint32_t kReversedPolynomial = 0x82f63b78;
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kReversedPolynomial : 0);
    table[byte] = crc;
  }
  return table;
}

// TFRecords hold checksums in a form of their own, since the checksum of bytes that hold their checksum says little.
uint32_t masked_crc(std::string_view bytes) {
  const uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

void append_number(std::string& record, uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) record += static_cast<char>(number >> (8 * i) & 0xff);
}

std::string framed(const std::string& message) {
  std::string record;
  append_number(record, message.size(), 8);
  append_number(record, masked_crc(record), 4);
  record += message;
  append_number(record, masked_crc(message), 4);
  return record;
}

void put_event_time(protozero::pbf_writer& event, const EventTime& time) {
  event.add_double(kEventTime, time.wall_time);
  event.add_int64(kEventStep, time.step);
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> kTable = crc32c_table();
  uint32_t crc = 0xffffffff;
  for (const char byte : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  return crc ^ 0xffffffff;
}

std::string event_file_beginning(const EventTime& time) {
  std::string version, start;
  protozero::pbf_writer event(version);
  event.add_double(kEventTime, time.wall_time);
  event.add_string(kFileVersion, kEventFileVersion);
  protozero::pbf_writer session(start);
  put_event_time(session, time);
  protozero::pbf_writer(session, kSessionLog).add_enum(kSessionStatus, kSessionStart);
  return framed(version) + framed(start);
}

std::string scalars_record(const EventTime& time, const std::vector<NamedNumber>& scalars) {
  std::string message;
  protozero::pbf_writer event(message);
  put_event_time(event, time);
  {
    protozero::pbf_writer summary(event, kSummary);
    for (const auto& [name, number] : scalars) {
      protozero::pbf_writer value(summary, kSummaryValue);
      value.add_string(kValueTag, name);
      value.add_float(kSimpleValue, static_cast<float>(to_double(number)));
    }
  }
  return framed(message);
}

}  // namespace mtfc
