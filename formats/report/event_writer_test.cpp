#include "formats/report/event_writer.h"

#include <doctest/doctest.h>

#include <limits>

namespace mtfc::event_writer_test {
namespace {

std::string hex(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

}  // namespace

TEST_CASE("the checksum is CRC-32C") {
  CHECK(crc32c("123456789") == 0xe3069283);  // the check value of its specification
  CHECK(crc32c("") == 0);
  // RFC 3720, B.4: 32 bytes of zeros, and of ones.
  CHECK(crc32c(std::string(32, '\0')) == 0x8a9136aa);
  CHECK(crc32c(std::string(32, '\xff')) == 0x62a8ab43);
}

// Bytes by hand from the rules of protobuf; scripts/read_events.py checks the checksums of whole files.
TEST_CASE("a file begins with the version of the format and the start of a session") {
  const std::string beginning = event_file_beginning({1.5, 300});
  const std::string version =
      "09000000000000f83f"
      "1a0d"
      "627261696e2e4576656e743a32";
  const std::string start =
      "09000000000000f83f"
      "10ac02"
      "3a020801";
  CHECK(hex(beginning.substr(0, 8)) == "1800000000000000");
  CHECK(hex(beginning.substr(12, 24)) == version);
  CHECK(hex(beginning.substr(40, 8)) == "1000000000000000");
  CHECK(hex(beginning.substr(52, 16)) == start);
  CHECK(beginning.size() == 72);
}

TEST_CASE("scalars are named floats of one summary") {
  const std::string record = scalars_record({0, 1}, {{"loss", 2.5}, {"a/b", -1}});
  CHECK(hex(record.substr(12, record.size() - 16)) ==
        "090000000000000000"
        "1001"
        "2a19"
        "0a0b"
        "0a046c6f7373"
        "1500002040"
        "0a0a"
        "0a03612f62"
        "15000080bf");
  const std::string none = scalars_record({0, 1}, {{"x", std::numeric_limits<double>::quiet_NaN()}});
  CHECK(hex(none).find("0a0178"
                       "150000c07f") != std::string::npos);
}

}  // namespace mtfc::event_writer_test
