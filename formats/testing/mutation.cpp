#include "formats/testing/mutation.h"

#include <algorithm>

#include "core/graph/op_registry.h"
#include "formats/json/json_text.h"

namespace mtfc {
namespace {

const std::vector<std::string> kNumbers = {"0",
                                           "1",
                                           "-1",
                                           "2",
                                           "3",
                                           "7",
                                           "0.5",
                                           "-0.0",
                                           "1e-400",
                                           "1e308",
                                           "-1e308",
                                           "1e39",
                                           "1e10",
                                           "65536",
                                           "1e400",
                                           "1e999",
                                           "-1e999",
                                           "2e9",
                                           "100",
                                           "256",
                                           "4096",
                                           "2147483646",
                                           "2147483647",
                                           "2147483648",
                                           "-2147483648",
                                           "-2147483649",
                                           "4294967295",
                                           "4294967296",
                                           "9007199254740991",
                                           "9007199254740992",
                                           "9007199254740993",
                                           "1125899906842624",
                                           "1152921504606846976",
                                           "4611686018427387904",
                                           "9223372036854775807",
                                           "9223372036854775808",
                                           "18446744073709551615",
                                           "18446744073709551616",
                                           "-9223372036854775808",
                                           "-9223372036854775809",
                                           "1e18",
                                           "123456789012345678901234567890"};

const std::vector<std::string> kTexts = {"",
                                         " ",
                                         "é",
                                         "\xF0\x9F\x98\x80",
                                         "a b",
                                         "a/b",
                                         "a~1b",
                                         "*",
                                         "-",
                                         ".",
                                         "x.0",
                                         "\n",
                                         "\x1b[31m",
                                         "%s%n{}",
                                         "zeros",
                                         "ones",
                                         "i32",
                                         "i64",
                                         "f64",
                                         "bool",
                                         "bf16",
                                         "fan_avg",
                                         "random:int,hi=3",
                                         "idx:/dev/null"};

const std::vector<std::string> kExpressions = {"1 / 0",
                                               "2 ** 62",
                                               "2 ** 63",
                                               "-2 ** 63 // -1",
                                               "0 ** -1",
                                               "sqrt(-1)",
                                               "min()",
                                               "max(1, 2",
                                               "not 1",
                                               "1 and 0",
                                               "1 < 2 < 3",
                                               "9 % -4",
                                               "floor(1e300)",
                                               "1e400",
                                               "nan",
                                               "inf",
                                               "-infinity",
                                               "2 ** 31",
                                               "2 ** 31 - 1",
                                               "2 ** 32",
                                               "2 ** 53 + 1",
                                               "2 ** 63 - 1",
                                               "-2 ** 63",
                                               "1e400 - 1e400",
                                               "((((1))))",
                                               "2 ^ 3",
                                               "1 = 1",
                                               "ceil(0.5) // 1",
                                               "-9223372036854775808"};

JsonValue scalar(JsonKind kind, std::string text) {
  JsonValue value;
  value.kind = kind;
  value.text = std::move(text);
  return value;
}

void collect(JsonValue& value, std::vector<JsonValue*>& all) {
  all.push_back(&value);
  for (JsonValue& item : value.items) collect(item, all);
  for (JsonMember& member : value.members) collect(member.value, all);
}

}  // namespace

const std::vector<std::string>& boundary_numbers() {
  return kNumbers;
}

void Vocabulary::learn(const JsonValue& document) {
  constexpr size_t kSmall = 200;  // larger parts would make all mutants alike
  if (document.kind == JsonKind::kString) words.push_back(document.text);
  if (json_text(document).size() < kSmall) values.push_back(document);
  for (const JsonValue& item : document.items) learn(item);
  for (const JsonMember& member : document.members) {
    words.push_back(member.key);
    if (json_text(member.value).size() < kSmall) by_key[member.key].push_back(member.value);
    learn(member.value);
  }
}

JsonValue* Mutator::random_value(JsonValue& root) {
  std::vector<JsonValue*> all;
  collect(root, all);
  return one_of(all);
}

// Mostly takes a word of the document itself: a foreign one is soon refused.
const std::string& Mutator::word() {
  return one_of(own_.words.empty() || chance(20) ? vocabulary_.words : own_.words);
}

std::string Mutator::expression() {
  std::string text = chance(30) ? one_of(kExpressions) : word();
  const std::vector<std::string> joints = {" + ",  " - ", " * ",   " / ", " // ", " % ",
                                           " ** ", " < ", " and ", "(",   ")"};
  for (size_t i = pick(4); i > 0; --i) text += one_of(joints) + (chance(50) ? word() : one_of(kNumbers));
  if (chance(3)) text = std::string(pick(200), '(') + text;
  if (chance(3)) text = std::string(pick(200), '-') + text;
  return text;
}

std::string Mutator::any_text() {
  switch (pick(6)) {
    case 0:
      return one_of(kTexts);
    case 1:
      return expression();
    case 2:
      return std::string(pick(chance(5) ? 20000 : 30), 'x');
    default:
      return word();
  }
}

// Mostly takes a value that may appear under `key`.
JsonValue Mutator::value_for(const std::string& key) {
  const auto& pool = chance(30) ? vocabulary_.by_key : own_.by_key;
  const auto known = pool.find(key);
  return known == pool.end() || chance(20) ? any_value() : one_of(known->second);
}

// An operation of any kind over any names, with its own attributes.
JsonValue Mutator::operation() {
  const std::vector<std::string> names = operation_names();
  const Signature& signature = *find_signature(one_of(names));
  JsonValue op = scalar(JsonKind::kObject, "");
  const auto add = [&](std::string_view key, JsonValue value) {
    op.members.push_back({std::string(key), {}, std::move(value)});
  };
  if (chance(80))
    add("out", scalar(JsonKind::kString, chance(80) ? "new" + std::to_string(pick(9)) : word()));
  add("op", scalar(JsonKind::kString, std::string(signature.name)));
  JsonValue in = scalar(JsonKind::kArray, "");
  const int most = signature.max_operands < 0 ? 4 : signature.max_operands;
  for (int i = 0; i < most; ++i)
    in.items.push_back(chance(20) ? scalar(JsonKind::kNumber, one_of(kNumbers)) : value_for("in"));
  for (JsonValue& item : in.items)
    if (item.kind == JsonKind::kArray && !item.items.empty())
      item = JsonValue(item.items[pick(item.items.size())]);
  add("in", std::move(in));
  for (const AttributeSpec& spec : signature.attributes)
    if (chance(spec.required ? 95 : 40)) add(spec.name, value_for(std::string(spec.name)));
  return op;
}

JsonValue Mutator::any_value() {
  switch (pick(9)) {
    case 0:
      return scalar(JsonKind::kNumber, one_of(kNumbers));
    case 1:
      return scalar(JsonKind::kString, any_text());
    case 2:
      return operation();
    case 3: {
      JsonValue value = scalar(one_of(std::vector{JsonKind::kNull, JsonKind::kBool}), "");
      value.flag = chance(50);
      return value;
    }
    case 4: {
      JsonValue list = scalar(JsonKind::kArray, "");
      for (size_t i = pick(4); i > 0; --i) list.items.push_back(scalar(JsonKind::kString, word()));
      return list;
    }
    default:
      return one_of(own_.values.empty() || chance(40) ? vocabulary_.values : own_.values);
  }
}

void Mutator::mutate_list(JsonValue& list) {
  std::vector<JsonValue>& items = list.items;
  const size_t choice = items.empty() ? 3 : pick(5);
  const auto at = [&] { return items.begin() + static_cast<std::ptrdiff_t>(pick(items.size())); };
  if (choice == 0)
    items.erase(at());
  else if (choice == 1)
    items.insert(at(), JsonValue(*at()));
  else if (choice == 2)
    std::iter_swap(at(), at());
  else if (choice == 3)
    items.push_back(chance(50) ? operation() : any_value());
  else
    *at() = any_value();
}

void Mutator::mutate_object(JsonValue& object) {
  std::vector<JsonMember>& members = object.members;
  const size_t choice = members.empty() ? 4 : pick(6);
  const auto at = [&] { return members.begin() + static_cast<std::ptrdiff_t>(pick(members.size())); };
  if (choice == 0)
    members.erase(at());
  else if (choice == 1)
    members.insert(at(), JsonMember(*at()));
  else if (choice == 2)
    std::swap(at()->value, at()->value);
  else if (choice == 3)
    at()->key = any_text();
  else if (choice == 4)
    members.push_back({any_text(), {}, any_value()});
  else if (const auto member = at(); chance(70))
    member->value = value_for(member->key);
  else
    member->value = any_value();
}

void Mutator::mutate_scalar(JsonValue& value) {
  if (value.kind == JsonKind::kNumber)
    value.text = one_of(kNumbers);
  else if (value.kind == JsonKind::kString && chance(20))
    value.text = mutated_bytes(value.text, 2);
  else if (value.kind == JsonKind::kString && chance(50))
    value.text = word();
  else if (value.kind == JsonKind::kString)
    value.text = chance(50) ? expression() : any_text();
  else
    value = any_value();
}

void Mutator::mutate(JsonValue& root) {
  JsonValue* const ops = chance(25) ? const_cast<JsonValue*>(root.find("ops")) : nullptr;
  if (ops && ops->kind == JsonKind::kArray) return ops->items.push_back(operation());
  JsonValue& value = *random_value(root);
  if (chance(2)) {  // deep nesting
    JsonValue wrapped = value;
    const bool as_operand = chance(50);
    for (size_t i = pick(chance(10) ? 1100 : 20); i > 0; --i) {
      JsonValue outer = as_operand ? scalar(JsonKind::kObject, "") : scalar(JsonKind::kArray, "");
      if (as_operand) {
        outer.members.push_back({"op", {}, scalar(JsonKind::kString, "exp")});
        outer.members.push_back({"in", {}, std::move(wrapped)});
      } else {
        outer.items.push_back(std::move(wrapped));
      }
      wrapped = std::move(outer);
    }
    value = std::move(wrapped);
  } else if (value.kind == JsonKind::kArray) {
    mutate_list(value);
  } else if (value.kind == JsonKind::kObject) {
    mutate_object(value);
  } else {
    mutate_scalar(value);
  }
}

std::string Mutator::mutated_bytes(std::string bytes, int most) {
  for (size_t i = pick(static_cast<size_t>(most)) + 1; i > 0; --i) {
    if (bytes.empty()) return std::string(1, static_cast<char>(pick(256)));
    const size_t at = pick(bytes.size());
    const size_t length = std::min(bytes.size() - at, pick(8) + 1);
    switch (pick(6)) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << pick(8)));
        break;
      case 1:
        bytes[at] = static_cast<char>(pick(256));
        break;
      case 2:
        bytes.erase(at, length);
        break;
      case 3:
        bytes.insert(at, bytes.substr(at, length));
        break;
      case 4:
        bytes.insert(
            at, one_of(std::vector<std::string>{"\"", "{", "}", "[", "]", ",", ":", "\\", "0", "-", "\xff"}));
        break;
      default:
        if (chance(20)) bytes.resize(at);
    }
  }
  return bytes;
}

std::string Mutator::mutated_json(const std::string& text) {
  if (chance(10)) return mutated_bytes(text, 4);
  JsonValue document;
  try {
    document = parse_json(text, "");
  } catch (const UserError&) {
    return mutated_bytes(text, 4);
  }
  own_ = {};
  own_.learn(document);
  for (size_t i = chance(60) ? 1 : pick(4) + 1; i > 0; --i) mutate(document);
  return json_text(document, 1);
}

}  // namespace mtfc
