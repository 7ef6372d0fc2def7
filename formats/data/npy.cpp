#include "formats/data/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "core/diagnostics/error.h"
#include "core/diagnostics/suggest.h"
#include "formats/data/zip_archive.h"

namespace mtfc {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

// The header: a Python dictionary with the keys 'descr', 'fortran_order' and 'shape'.
struct Header {
  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<int64_t>> shape;
};

class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Header parse() {
    Header header;
    expect('{');
    while (!take('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr")
        header.descr = descr();
      else if (key == "fortran_order")
        header.fortran_order = flag();
      else if (key == "shape")
        header.shape = shape();
      else
        fail(fmt::format("an unknown key '{}'", key));
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    if (!header.descr || !header.fortran_order || !header.shape)
      fail("not all of 'descr', 'fortran_order' and 'shape'");
    return header;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw RunError(fmt::format("{}: the .npy header has {}", file_, what));
  }
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(fmt::format("no '{}' at byte {}", c, at_));
  }
  std::string quoted() {
    skip();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    const size_t end = quote == '\'' || quote == '"' ? text_.find(quote, at_ + 1) : std::string_view::npos;
    if (end == std::string_view::npos) fail(fmt::format("no string at byte {}", at_));
    const std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }
  std::string descr() {
    if (take('[')) fail("a structured type, which can't be read");
    return quoted();
  }
  bool flag() {
    skip();
    for (const std::string_view word : {"True", "False"})
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return word == "True";
      }
    fail(fmt::format("neither True nor False at byte {}", at_));
  }
  std::vector<int64_t> shape() {
    std::vector<int64_t> sizes;
    expect('(');
    while (!take(')')) {
      skip();
      int64_t size = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), size);
      if (error != std::errc() || size < 0) fail(fmt::format("no size at byte {}", at_));
      at_ = static_cast<size_t>(end - text_.data());
      take('L');  // Python 2 wrote sizes like this
      sizes.push_back(size);
      if (!take(',')) {
        expect(')');
        break;
      }
    }
    return sizes;
  }

  std::string_view text_;
  const std::string& file_;
  size_t at_ = 0;
};

StoredType stored_type(const std::string& descr, const std::string& file) {
  static const std::map<std::string, StoredType, std::less<>> kTypes = {
      {"u1", StoredType::kU8},  {"i1", StoredType::kI8},  {"u2", StoredType::kU16}, {"i2", StoredType::kI16},
      {"u4", StoredType::kU32}, {"i4", StoredType::kI32}, {"u8", StoredType::kU64}, {"i8", StoredType::kI64},
      {"f2", StoredType::kF16}, {"f4", StoredType::kF32}, {"f8", StoredType::kF64}, {"b1", StoredType::kBool},
      {"V2", StoredType::kBF16}};  // as ml_dtypes, the bf16 of NumPy, writes it
  const bool marked = !descr.empty() && std::string_view("<>|=").find(descr[0]) != std::string_view::npos;
  const auto at = kTypes.find(std::string_view(descr).substr(marked ? 1 : 0));
  if (at == kTypes.end())
    throw RunError(fmt::format(
        "{}: elements of type '{}' can't be read (u1 i1 u2 i2 u4 i4 u8 i8 f2 f4 f8 b1 can, and V2 as bf16)",
        file, descr));
  return at->second;
}

// Returns the header's text and the offset of the elements.
std::pair<std::string_view, size_t> locate_npy_header(std::span<const std::byte> bytes,
                                                      const std::string& file) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.empty()) throw RunError(file + ": the file is empty");
  if (!text.starts_with(kMagic)) throw RunError(file + ": not a .npy file");
  const auto byte = [&](size_t at) { return std::to_integer<size_t>(bytes[at]); };
  if (bytes.size() < 10) throw RunError(file + ": the .npy header is cut off");
  const size_t version = byte(6);
  if (version < 1 || version > 3)
    throw RunError(fmt::format("{}: the .npy format version {} is not known", file, version));
  const size_t start = version == 1 ? 10 : 12;
  if (bytes.size() < start) throw RunError(file + ": the .npy header is cut off");
  size_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > bytes.size() - start) throw RunError(file + ": the .npy header is cut off");
  return {text.substr(start, length), start + length};
}

int64_t checked_bytes(const StoredArray& array) {
  int64_t bytes = size_of(array.type);
  bool empty = false;
  for (const int64_t size : array.shape) empty = empty || size == 0;
  if (empty) return 0;
  for (const int64_t size : array.shape)
    if (__builtin_mul_overflow(bytes, size, &bytes))
      throw RunError(array.file + ": the .npy header's sizes are impossibly large");
  return bytes;
}

}  // namespace

StoredArray read_npy(const std::string& path) {
  return npy_array(open_data_file(path));
}

StoredArray npy_array(const DataFile& file) {
  const std::string& path = file.name;
  const auto [text, offset] = locate_npy_header(file.bytes, path);
  const Header header = HeaderParser(text, path).parse();
  StoredArray array;
  array.file = path;
  array.type = stored_type(*header.descr, path);
  array.big_endian = header.descr->starts_with('>') && size_of(array.type) > 1;
  array.shape = *header.shape;
  if (*header.fortran_order && array.shape.size() > 1)
    throw RunError(
        path +
        ": the array is in column-major (Fortran) order; save the result of numpy.ascontiguousarray instead");
  const int64_t promised = checked_bytes(array);
  const auto found = static_cast<int64_t>(file.bytes.size() - offset);
  if (promised != found)
    throw RunError(fmt::format("{}: the .npy header promises {} bytes of elements, but the file has {}", path,
                               promised, found));
  array.data = file.bytes.data() + offset;
  array.owner = file.owner;
  array.sample = file.sample;
  return array;
}

StoredArray read_npz(const std::string& path, const std::string& array) {
  const ZipArchive archive(path);
  constexpr std::string_view kEnding = ".npy";
  std::vector<std::string> names;
  for (const ZipMember& member : archive.members()) {
    const bool is_array = member.name.ends_with(kEnding);
    names.push_back(is_array ? member.name.substr(0, member.name.size() - kEnding.size()) : member.name);
  }
  if (names.empty()) throw RunError(path + ": the archive has no arrays");
  if (array.empty() && names.size() > 1)
    throw RunError(fmt::format("{}: the archive has {} arrays, '{}' (choose one with ,array=NAME)", path,
                               names.size(), fmt::join(names, "', '")));
  const auto at = array.empty() ? names.begin() : std::find(names.begin(), names.end(), array);
  if (at == names.end()) {
    const std::string near = did_you_mean(array, names);
    throw RunError(fmt::format("{}: the archive has no array '{}' ({})", path, array,
                               near.empty() ? fmt::format("it has '{}'", fmt::join(names, "', '")) : near));
  }
  const ZipMember& member = archive.members()[static_cast<size_t>(at - names.begin())];
  return npy_array(archive.open(member, fmt::format("{}, array {}", path, *at)));
}

std::string npy_header(const TensorType& type) {
  constexpr const char* kCodes[] = {"<f4", "<f8", "<V2", "<i4", "<i8", "|b1"};
  std::string shape;
  for (const Dim& dim : type.dims) shape += fmt::format("{}, ", dim.size);
  if (type.dims.size() > 1) shape.resize(shape.size() - 2);
  if (type.dims.size() == 1) shape.pop_back();
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                 kCodes[static_cast<int>(type.dtype)], shape);
  constexpr size_t kPrefix = 10, kMultiple = 64;
  while ((kPrefix + text.size() + 1) % kMultiple != 0) text += ' ';
  text += '\n';
  check_invariant(text.size() <= 0xFFFF, "the header of a .npy file fits its length field");
  const char length[] = {static_cast<char>(text.size() & 0xFF), static_cast<char>(text.size() >> 8)};
  return std::string(kMagic) + std::string("\x01\x00", 2) + std::string(length, 2) + text;
}

}  // namespace mtfc
