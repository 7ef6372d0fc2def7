#include "formats/layout/mesh_choices.h"

#include <fmt/format.h>

#include "core/diagnostics/error.h"
#include "core/tensors/division.h"
#include "core/tensors/mesh.h"
#include "formats/layout/layout_reader.h"

namespace mtfc {
namespace {

constexpr size_t kMostChoices = 1000;

// The offsets of the open sizes: each `*` between a colon and the end of its part.
std::vector<size_t> open_sizes(std::string_view text) {
  std::vector<size_t> places;
  for (size_t at = text.find(":*"); at != std::string_view::npos; at = text.find(":*", at + 1))
    if (at + 2 == text.size() || std::string_view(",; \t\n").find(text[at + 2]) != std::string_view::npos)
      places.push_back(at + 1);
  return places;
}

// Fills the open sizes from first to last; the last one takes the remaining factor.
class Choices {
 public:
  Choices(std::string_view text, std::vector<size_t> places) : text_(text), places_(std::move(places)) {}

  void fill(int64_t devices) {
    if (sizes_.size() + 1 == places_.size()) return add(devices);
    for (const int64_t size : divisors(devices)) {
      sizes_.push_back(size);
      fill(devices / size);
      sizes_.pop_back();
    }
  }
  std::vector<std::string> made;

 private:
  void add(int64_t last) {
    if (made.size() == kMostChoices)
      throw UserError(fmt::format("the mesh {} leaves more than {} choices of sizes", text_, kMostChoices),
                      "give the sizes of some axes");
    std::string mesh;
    size_t from = 0;
    for (size_t i = 0; i < places_.size(); ++i) {
      mesh += text_.substr(from, places_[i] - from);
      mesh += fmt::format("{}", i < sizes_.size() ? sizes_[i] : last);
      from = places_[i] + 1;
    }
    made.push_back(mesh + std::string(text_.substr(from)));
  }

  std::string_view text_;
  std::vector<size_t> places_;
  std::vector<int64_t> sizes_;
};

}  // namespace

std::vector<std::string> mesh_choices(std::string_view text, std::optional<int64_t> devices) {
  const std::vector<size_t> places = open_sizes(text);
  if (places.empty() && !devices) return {std::string(text)};
  std::string closed(text);
  for (const size_t place : places) closed[place] = '1';  // keeps the columns of mistakes
  const int64_t given = parse_mesh(closed).devices();
  if (!devices)
    throw UserError(fmt::format("the mesh {} leaves sizes open", text),
                    "set the number of devices with --devices N");
  if (places.empty() && given != *devices)
    throw UserError(fmt::format("the mesh {} has {} devices, not {}", text, given, *devices),
                    "leave a size open with *, or leave out --devices");
  if (places.empty()) return {std::string(text)};
  if (*devices % given != 0)
    throw UserError(fmt::format("the mesh {} can't have {} devices: the axes with a size take {} of them",
                                text, *devices, given),
                    fmt::format("a multiple of {} works", given));
  Choices choices(text, places);
  choices.fill(*devices / given);
  return std::move(choices.made);
}

}  // namespace mtfc
