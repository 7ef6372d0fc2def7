#include "formats/json/json_text.h"

namespace mtfc {
namespace {

void append_quoted(std::string& text, const std::string& content) {
  constexpr const char* kDigits = "0123456789abcdef";
  text += '"';
  for (const char c : content) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (code < 0x20) {
      text += std::string("\\u00") + kDigits[code >> 4] + kDigits[code & 15];
    } else {
      text += c;
    }
  }
  text += '"';
}

class TextWriter {
 public:
  explicit TextWriter(int indent) : indent_(static_cast<size_t>(indent)) {}

  void write(const JsonValue& value, size_t depth) {
    switch (value.kind) {
      case JsonKind::kNull:
        text_ += "null";
        return;
      case JsonKind::kBool:
        text_ += value.flag ? "true" : "false";
        return;
      case JsonKind::kNumber:
        text_ += value.text;
        return;
      case JsonKind::kString:
        return append_quoted(text_, value.text);
      case JsonKind::kArray:
        return write_all('[', ']', value.items, depth,
                         [&](const JsonValue& item) { write(item, depth + 1); });
      case JsonKind::kObject:
        return write_all('{', '}', value.members, depth, [&](const JsonMember& member) {
          append_quoted(text_, member.key);
          text_ += ": ";
          write(member.value, depth + 1);
        });
    }
  }

  std::string take() { return std::move(text_); }

 private:
  template <typename Elements, typename WriteElement>
  void write_all(char begin, char end, const Elements& elements, size_t depth, WriteElement write_element) {
    text_ += begin;
    for (size_t i = 0; i < elements.size(); ++i) {
      if (i > 0) text_ += indent_ > 0 ? "," : ", ";
      break_line(depth + 1);
      write_element(elements[i]);
    }
    if (!elements.empty()) break_line(depth);
    text_ += end;
  }

  void break_line(size_t depth) {
    if (indent_ > 0) text_ += "\n" + std::string(indent_ * depth, ' ');
  }

  size_t indent_;
  std::string text_;
};

}  // namespace

std::string json_text(const JsonValue& value, int indent) {
  TextWriter writer(indent);
  writer.write(value, 0);
  return writer.take();
}

JsonValue json_number(std::string text) {
  JsonValue value;
  value.kind = JsonKind::kNumber;
  value.text = std::move(text);
  return value;
}

JsonValue json_string(std::string text) {
  JsonValue value = json_number(std::move(text));
  value.kind = JsonKind::kString;
  return value;
}

JsonValue json_flag(bool flag) {
  JsonValue value;
  value.kind = JsonKind::kBool;
  value.flag = flag;
  return value;
}

}  // namespace mtfc
