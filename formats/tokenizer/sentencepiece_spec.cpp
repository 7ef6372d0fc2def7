#include "formats/tokenizer/sentencepiece_spec.h"

#include <cmath>
#include <cstdint>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <set>
#include <vector>

#include "formats/tokenizer/charsmap.h"
#include "formats/tokenizer/code_points.h"

namespace mtfc {
namespace {

using protozero::pbf_wire_type;
using protozero::tag_and_type;

enum ModelField { kPieces = 1, kTrainer = 2, kNormalizer = 3, kSelfTest = 4 };
enum PieceField { kPieceText = 1, kPieceScore = 2, kPieceType = 3 };
enum TrainerField { kModelKind = 3, kSpacesEndWords = 24, kByteFallback = 35 };
enum NormalizerField { kCharsmap = 2, kPrefix = 3, kRemovesSpaces = 4 };
constexpr int32_t kUserDefined = 4;
constexpr int32_t kBpeKind = 2, kCharacterKind = 4;

// The library keeps so many matches of a text with pieces that users defined, and goes on without a look.
constexpr size_t kMostNested = 64;

class SpecReader {
 public:
  SentencepieceSpec read(std::string_view model) {
    for (protozero::pbf_reader message(model.data(), model.size()); message.next();) {
      switch (message.tag_and_type()) {
        case tag_and_type(kPieces, pbf_wire_type::length_delimited):
          read_piece(message.get_message());
          break;
        case tag_and_type(kTrainer, pbf_wire_type::length_delimited):
          read_trainer(message.get_message());
          break;
        case tag_and_type(kNormalizer, pbf_wire_type::length_delimited):
          read_normalizer(message.get_message());
          break;
        default:
          message.skip();
      }
    }
    if (!has_pieces_) throw SentencepieceError("it has no tokens");
    check_nesting();
    if (!charsmap_.empty()) check_charsmap(charsmap_);
    // Without these, the ids of a line feed and of a letter behind it depend on nothing on the other side.
    spec_.may_cut_lines = (kind_ == kBpeKind || kind_ == kCharacterKind) && has_bytes_ && !joins_lines_ &&
                          !spaces_end_words_ && !spec_.removes_spaces && charsmap_.empty();
    return spec_;
  }

 private:
  void read_piece(protozero::pbf_reader message) {
    std::string_view text;
    int32_t type = 0;
    while (message.next()) {
      switch (message.tag_and_type()) {
        case tag_and_type(kPieceText, pbf_wire_type::length_delimited): {
          const protozero::data_view view = message.get_view();
          text = {view.data(), view.size()};
          break;
        }
        case tag_and_type(kPieceScore, pbf_wire_type::fixed32):
          if (!std::isfinite(message.get_float()))
            throw SentencepieceError("the score of a token is not finite");
          break;
        case tag_and_type(kPieceType, pbf_wire_type::varint):
          type = message.get_enum();
          break;
        default:
          message.skip();
      }
    }
    has_pieces_ = true;
    if (text.empty()) throw SentencepieceError("a token is empty");
    if (text.find('\0') != std::string_view::npos || valid_prefix(text) < text.size())
      throw SentencepieceError("a token is not UTF-8, or has a zero byte");
    if (type == kUserDefined) defined_.insert(text);
    for (size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1))
      if (at + 1 < text.size()) joins_lines_ = joins_lines_ || text[at + 1] != '\n';
  }

  void read_trainer(protozero::pbf_reader message) {
    while (message.next()) {
      switch (message.tag_and_type()) {
        case tag_and_type(kModelKind, pbf_wire_type::varint):
          kind_ = message.get_enum();
          break;
        case tag_and_type(kSpacesEndWords, pbf_wire_type::varint):
          spaces_end_words_ = message.get_bool();
          break;
        case tag_and_type(kByteFallback, pbf_wire_type::varint):
          has_bytes_ = message.get_bool();
          break;
        default:
          message.skip();
      }
    }
  }

  void read_normalizer(protozero::pbf_reader message) {
    while (message.next()) {
      switch (message.tag_and_type()) {
        case tag_and_type(kCharsmap, pbf_wire_type::length_delimited): {
          const protozero::data_view view = message.get_view();
          charsmap_ = {view.data(), view.size()};
          break;
        }
        case tag_and_type(kPrefix, pbf_wire_type::varint):
          spec_.prefixes = message.get_bool();
          break;
        case tag_and_type(kRemovesSpaces, pbf_wire_type::varint):
          spec_.removes_spaces = message.get_bool();
          break;
        default:
          message.skip();
      }
    }
  }

  void check_nesting() const {
    std::vector<std::string_view> beginnings;        // of the token, each of the next
    for (const std::string_view token : defined_) {  // in alphabetical order
      while (!beginnings.empty() && !token.starts_with(beginnings.back())) beginnings.pop_back();
      beginnings.push_back(token);
      if (beginnings.size() > kMostNested)
        throw SentencepieceError(
            "a token begins with more than 63 others that are found in texts as they are");
    }
  }

  SentencepieceSpec spec_;
  std::string_view charsmap_;
  std::set<std::string_view> defined_;  // tokens that are found in texts as they are
  int32_t kind_ = 1;
  bool has_pieces_ = false, has_bytes_ = false, spaces_end_words_ = false;
  bool joins_lines_ = false;  // A token goes on behind a line feed.
};

}  // namespace

SentencepieceSpec read_sentencepiece_spec(std::string_view model) {
  try {
    return SpecReader().read(model);
  } catch (const protozero::exception&) {
    throw SentencepieceError("it is cut short or damaged");
  } catch (const CharsmapError& error) {
    throw SentencepieceError(error.what());
  }
}

std::string with_prefix(std::string_view model, bool prefixes) {
  std::string changed;
  protozero::pbf_reader message(model.data(), model.size());
  const char* begin = model.data();
  while (message.next()) {
    const bool is_test = message.tag() == kSelfTest;
    message.skip();
    const char* const end = message.data().data();
    if (!is_test) changed.append(begin, end);
    begin = end;
  }
  // The last value of a field counts.
  protozero::pbf_writer writer(changed);
  protozero::pbf_writer(writer, kNormalizer).add_bool(kPrefix, prefixes);
  return changed;
}

}  // namespace mtfc
