#include "formats/tokenizer/post_processor.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>

#include "formats/tokenizer/component_keys.h"
#include "formats/tokenizer/vocabulary.h"

namespace mtfc {
namespace {

using FramePointer = std::unique_ptr<SpecialFrame>;

std::optional<int32_t> read_id(const Cursor& json) {
  const auto id = json.integer();
  if (!id) return std::nullopt;
  if (*id >= 0 && *id <= kLargestTokenId) return static_cast<int32_t>(*id);
  json.error(fmt::format("expected an id from 0 to {}", kLargestTokenId));
  return std::nullopt;
}

// ["[SEP]", 102]
std::vector<int32_t> read_named_id(const Cursor& json, std::string_view key) {
  const auto pair = json.require(key);
  if (!pair) return {};
  const std::vector<Cursor> items = pair->items("a token with its id");
  if (items.size() != 2) {
    if (!json.sink().failed()) pair->expected("a token with its id");
    return {};
  }
  items[0].string();
  const auto id = read_id(items[1]);
  return id ? std::vector{*id} : std::vector<int32_t>{};
}

FramePointer read_bert_frame(const Cursor& json) {
  json.check_keys({"type", "sep", "cls"});
  return std::make_unique<SpecialFrame>(SpecialFrame{read_named_id(json, "cls"), read_named_id(json, "sep")});
}

FramePointer read_roberta_frame(const Cursor& json) {
  json.check_keys({"type", "sep", "cls", "trim_offsets", "add_prefix_space"});
  return std::make_unique<SpecialFrame>(SpecialFrame{read_named_id(json, "cls"), read_named_id(json, "sep")});
}

// Is about places of tokens in the text.
FramePointer read_byte_level_frame(const Cursor& json) {
  json.check_keys({"type", "add_prefix_space", "trim_offsets", "use_regex"});
  return std::make_unique<SpecialFrame>();
}

// The ids of the special tokens of a template, by their names there.
std::map<std::string, std::vector<int32_t>> read_special_tokens(const Cursor& json) {
  std::map<std::string, std::vector<int32_t>> tokens;
  const auto table = json.require("special_tokens");
  if (!table) return tokens;
  for (const NamedCursor& entry : table->members("an object of special tokens")) {
    if (!entry.value.check_keys({"id", "ids", "tokens"})) continue;
    const auto ids = entry.value.require("ids");
    if (!ids) continue;
    std::vector<int32_t>& list = tokens[entry.key];
    for (const Cursor& item : ids->items("a list of ids"))
      if (const auto id = read_id(item)) list.push_back(*id);
  }
  return tokens;
}

FramePointer read_template(const Cursor& json) {
  json.check_keys({"type", "single", "pair", "special_tokens"});
  auto frame = std::make_unique<SpecialFrame>();
  const auto tokens = read_special_tokens(json);
  const auto single = json.require("single");
  if (!single) return frame;
  int texts = 0;
  for (const Cursor& item : single->items("a list of pieces")) {
    if (!item.check_keys({"SpecialToken", "Sequence"})) continue;
    if (item.find("Sequence")) ++texts;
    const auto special = item.find("SpecialToken");
    const auto id = special ? special->require("id") : std::nullopt;
    const auto name = id ? id->string() : std::nullopt;
    if (!name) continue;
    const auto found = tokens.find(*name);
    if (found == tokens.end()) {
      id->error(fmt::format("'{}' is not in special_tokens", *name));
      continue;
    }
    std::vector<int32_t>& ids = texts > 0 ? frame->after : frame->before;
    ids.insert(ids.end(), found->second.begin(), found->second.end());
  }
  if (texts != 1) single->error("expected the text (Sequence A) once");
  return frame;
}

FramePointer read_frame(const Cursor& json);

// Each frame is put around what the one before it gives.
FramePointer read_frames(const Cursor& json) {
  json.check_keys({"type", "processors"});
  auto all = std::make_unique<SpecialFrame>();
  const auto list = json.require("processors");
  if (!list) return all;
  for (const Cursor& item : list->items("a list of post-processors")) {
    const FramePointer frame = read_frame(item);
    if (!frame) continue;
    all->before.insert(all->before.begin(), frame->before.begin(), frame->before.end());
    all->after.insert(all->after.end(), frame->after.begin(), frame->after.end());
  }
  return all;
}

FramePointer read_frame(const Cursor& json) {
  static constexpr ComponentKind<FramePointer> kKinds[] = {
      {"TemplateProcessing", read_template},
      {"ByteLevel", read_byte_level_frame},
      {"Sequence", read_frames},
      {"BertProcessing", read_bert_frame},
      {"RobertaProcessing", read_roberta_frame},
  };
  return read_component(json, "a post-processor", kKinds);
}

}  // namespace

SpecialFrame read_post_processor(const Cursor& json) {
  const FramePointer frame = read_frame(json);
  return frame ? *frame : SpecialFrame();
}

}  // namespace mtfc
