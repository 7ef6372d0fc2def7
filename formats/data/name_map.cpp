#include "formats/data/name_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>
#include <string_view>

#include "core/diagnostics/error.h"
#include "core/diagnostics/suggest.h"
#include "formats/json/mapped_file.h"

namespace mtfc {
namespace {

constexpr std::string_view kPer = " per ", kIndex = "[#]";

std::string trimmed(const std::string& text) {
  constexpr const char* kSpaces = " \t\r\n";
  const size_t first = text.find_first_not_of(kSpaces);
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(kSpaces) + 1 - first);
}

// Stores in `captures` the text of `name` that each star of `pattern` matches: the first as long as possible, then the
// second, and so on. This means that each text between two stars lies as far to the right as the texts behind it allow,
// so it is found by a single search from the end of the name.
bool matches(std::string_view pattern, std::string_view name, std::vector<std::string_view>& captures) {
  captures.clear();
  const size_t first_star = pattern.find('*');
  if (first_star == std::string_view::npos) return pattern == name;
  if (!name.starts_with(pattern.substr(0, first_star))) return false;
  pattern.remove_prefix(first_star);
  name.remove_prefix(first_star);
  if (!name.ends_with(pattern.substr(pattern.rfind('*') + 1))) return false;
  while (!pattern.empty()) {
    const size_t star = pattern.rfind('*');
    const std::string_view text = pattern.substr(star + 1);
    const size_t at = name.rfind(text);
    if (at == std::string_view::npos) return false;
    captures.push_back(name.substr(at + text.size()));
    name = name.substr(0, at);
    pattern = pattern.substr(0, star);
  }
  captures.push_back(name);
  captures.erase(captures.begin());  // the empty text behind the end of the pattern
  std::reverse(captures.begin(), captures.end());
  return std::all_of(captures.begin(), captures.end(), [](std::string_view capture) {
    return capture.find_first_of("./") == std::string_view::npos;
  });
}

// The texts that the stars of a pattern match in a name, and the number for which its # stands.
struct Match {
  std::vector<std::string_view> captures;
  std::optional<int64_t> number;
};

std::optional<Match> match_of(const std::string& pattern, std::string_view name) {
  Match match;
  const size_t at = pattern.find('#');
  std::string stars = pattern;
  if (at != std::string::npos) stars[at] = '*';
  if (!matches(stars, name, match.captures)) return std::nullopt;
  if (at == std::string::npos) return match;
  const auto found = match.captures.begin() +
                     std::count(pattern.begin(), pattern.begin() + static_cast<std::ptrdiff_t>(at), '*');
  int64_t number = 0;
  const auto [end, error] = std::from_chars(found->data(), found->data() + found->size(), number);
  if (found->empty() || error != std::errc() || end != found->data() + found->size() || found->front() == '-')
    return std::nullopt;
  match.number = number;
  match.captures.erase(found);
  return match;
}

// The right side of a rule, in which stars stand for what they match on the left.
struct Target {
  std::vector<std::string> variables;
  std::string per;
  bool is_indexed = false;
};

Target target_of(const std::string& to) {
  Target target;
  std::string text = to;
  if (const size_t at = text.find(kPer); at != std::string::npos) {
    target.per = trimmed(text.substr(at + kPer.size()));
    text.resize(at);
  }
  std::istringstream variables(text);
  for (std::string variable; std::getline(variables, variable, '+');)
    target.variables.push_back(trimmed(variable));
  target.is_indexed = target.variables.front().ends_with(kIndex);
  if (target.is_indexed) target.variables.front().resize(target.variables.front().size() - kIndex.size());
  return target;
}

// The pattern with these texts in the places of its stars.
std::string filled(std::string_view pattern, const std::vector<std::string_view>& captures) {
  std::string text;
  size_t star = 0;
  for (const char c : pattern)
    if (c == '*')
      text += captures[star++];
    else
      text += c;
  return text;
}

// The name in which # stands for a number.
std::string with_index(std::string name, int64_t index) {
  if (const size_t at = name.find('#'); at != std::string::npos)
    name.replace(at, 1, fmt::format("{}", index));
  return name;
}

// `the file has 'h.0.attn.weight', 'h.0.mlp.weight' and 17 more`
std::string nearest_text(const std::string& name, const std::vector<std::string>& names) {
  return names.empty() ? "the file has no tensors" : "the file has " + nearest_listed(name, names);
}

}  // namespace

std::string rule_problem(const std::string& rule) {
  const size_t equals = rule.find('=');
  if (equals == std::string::npos || trimmed(rule.substr(0, equals)).empty())
    return fmt::format("'{}' is not of the form FROM=TO", rule);
  const std::string from = trimmed(rule.substr(0, equals)), to = trimmed(rule.substr(equals + 1));
  std::istringstream variables(to.substr(0, to.find(kPer)));
  for (std::string variable; std::getline(variables, variable, '+');) {
    if (std::count(variable.begin(), variable.end(), '*') > std::count(from.begin(), from.end(), '*'))
      return fmt::format("'{}' has more * after = than before it", rule);
    if (trimmed(variable).empty()) return fmt::format("'{}' has a + without a variable", rule);
  }
  const auto numbers = std::count(from.begin(), from.end(), '#');
  const bool is_simple = to.find('+') == std::string::npos && to.find(kPer) == std::string::npos;
  if (to.ends_with('+')) return fmt::format("'{}' has a + without a variable", rule);
  if (to.empty() && numbers <= 1) return "";
  if (numbers != std::count(to.begin(), to.end(), '#') ||
      (numbers > 0 && (numbers > 1 || !to.ends_with(kIndex) || !is_simple)))
    return fmt::format("'{}' must have one # before =, and one variable with [#] behind it", rule);
  return "";
}

NameMap::NameMap(const std::vector<std::string>& rules) {
  for (const std::string& rule : rules) {
    if (rule.find('=') != std::string::npos) {
      add(rule, "--map", "");
      continue;
    }
    std::string text;
    try {
      const auto file = MappedFile::open(rule);
      text.assign(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
    } catch (const UnreadableFile& error) {
      throw UserError(fmt::format("--map takes FROM=TO or a file of such lines, but '{}' can't be read: {}",
                                  rule, error.text()));
    }
    std::istringstream lines(text);
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      const std::string rule_text = trimmed(line);
      if (!rule_text.empty() && rule_text[0] != '#') add(rule_text, fmt::format("{}:{}", rule, number), rule);
    }
  }
}

void NameMap::add(const std::string& rule, const std::string& origin, const std::string& file) {
  if (const std::string problem = rule_problem(rule); !problem.empty())
    throw UserError(
        fmt::format("{}: {}", origin, problem),
        problem.find('*') == std::string::npos
            ? "as in 'h.*.ln_1.weight=layer_*/norm/scale'; nothing after = leaves tensors out"
            : "each one after = inserts the text that the * in the same place before = has matched");
  const size_t equals = rule.find('=');
  rules_.push_back({trimmed(rule.substr(0, equals)), trimmed(rule.substr(equals + 1)), origin, file});
}

void NameMap::add_of_model(const std::vector<std::string>& rules) {
  for (const std::string& rule : rules) {
    add(rule, "the model", "");
    rules_.back().is_of_model = true;
  }
}

std::optional<Placement> NameMap::placed(const std::string& name) const {
  for (const Rule& rule : rules_) {
    const std::optional<Match> match = match_of(rule.from, name);
    if (!match) continue;
    if (rule.to.empty()) return std::nullopt;
    const Target target = target_of(rule.to);
    Placement placement{{}, target.per, match->number};
    for (const std::string& variable : target.variables)
      placement.variables.push_back(filled(variable, match->captures));
    return placement;
  }
  return Placement{{name}, "", {}};
}

std::optional<std::string> NameMap::name_of(const std::string& variable,
                                            const std::set<std::string>& variables) const {
  std::optional<std::string> best;
  size_t least = 0;
  std::vector<std::string_view> captures;
  for (const Rule& rule : rules_) {
    if (rule.to.empty()) continue;
    for (const std::string& pattern : target_of(rule.to).variables) {
      if (!matches(pattern, variable, captures) ||
          static_cast<size_t>(std::count(rule.from.begin(), rule.from.end(), '*')) != captures.size())
        continue;
      size_t text = 0;
      for (const std::string_view capture : captures) text += capture.size();
      if (best && text >= least) continue;
      const std::string name = filled(rule.from, captures);
      // Other rules may come before this one for that name, and others of its variables may not exist.
      const std::optional<Placement> back = placed(with_index(name, 0));
      const auto exists = [&](const std::string& other) { return variables.contains(other); };
      if (!back ||
          std::find(back->variables.begin(), back->variables.end(), variable) == back->variables.end() ||
          !std::all_of(back->variables.begin(), back->variables.end(), exists))
        continue;
      best = name;
      least = text;
    }
  }
  return best;
}

std::vector<NamedPlacement> NameMap::tensors_of(const std::vector<VariableDecl>& variables) const {
  std::vector<NamedPlacement> tensors;
  std::set<std::string> known, done;
  for (const VariableDecl& variable : variables) known.insert(variable.name);
  for (const VariableDecl& variable : variables) {
    if (done.contains(variable.name)) continue;
    const std::string name = name_of(variable.name, known).value_or(variable.name);
    const std::optional<Placement> first = placed(with_index(name, 0));
    if (!first ||
        std::find(first->variables.begin(), first->variables.end(), variable.name) == first->variables.end())
      throw UserError(
          fmt::format("the map does not say what '{}' of the model is called in files, and '{}' is "
                      "the name of something else there",
                      variable.name, name),
          fmt::format("--map NAME={} names it", variable.name));
    done.insert(first->variables.begin(), first->variables.end());
    const Dims& dims = variable.type.dims;
    const int64_t count = !first->index ? 1 : dims.empty() ? 0 : dims.front().size;
    for (int64_t i = 0; i < count; ++i) {
      const std::string numbered = with_index(name, i);
      tensors.push_back({numbered, *placed(numbered)});
    }
  }
  return tensors;
}

void NameMap::require_use(const std::vector<std::string>& names) const {
  std::vector<bool> used(rules_.size()), found(rules_.size());
  std::map<std::string, bool> file_used;
  for (const std::string& name : names) {
    bool is_first = true;
    for (size_t r = 0; r < rules_.size(); ++r) {
      if (!match_of(rules_[r].from, name)) continue;
      found[r] = true;
      used[r] = used[r] || is_first;
      is_first = false;
    }
  }
  for (size_t r = 0; r < rules_.size(); ++r) file_used[rules_[r].file] |= used[r];
  for (size_t r = 0; r < rules_.size(); ++r) {
    const auto& [from, to, origin, file, is_of_model] = rules_[r];
    if (used[r] || is_of_model || (file.empty() ? to.empty() : file_used[file])) continue;
    if (!file.empty())
      throw UserError(fmt::format("--map {}: none of its patterns matches a tensor of the file", file),
                      nearest_text(names.empty() ? from : names.front(), names));
    throw UserError(fmt::format("{}: '{}={}' renames nothing: {}", origin, from, to,
                                found[r] ? "earlier patterns match the same tensors"
                                         : fmt::format("no tensor is called '{}'", from)),
                    found[r] ? "the first pattern that matches a tensor counts" : nearest_text(from, names));
  }
}

}  // namespace mtfc
