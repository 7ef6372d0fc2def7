#pragma once
// Names: those of the things in a list, and "did you mean", the nearest known name to an unknown one. A thing has its
// name as `name` or `decl.name`.

#include <string>
#include <string_view>
#include <vector>

namespace mtfc {

template <typename Named>
std::string_view name_of_thing(const Named& thing) {
  if constexpr (requires { thing->name; })
    return thing->name;
  else if constexpr (requires { thing.decl; })
    return thing.decl.name;
  else
    return thing.name;
}

/// The first thing of the list that has the name, or nullptr.
template <typename List>
auto find_named(List& list, std::string_view name) -> decltype(list.data()) {
  for (auto& thing : list)
    if (name_of_thing(thing) == name) return &thing;
  return nullptr;
}

/// The names of all things of the list, in its order.
template <typename List>
std::vector<std::string> all_names(const List& list) {
  std::vector<std::string> names;
  for (const auto& thing : list) names.emplace_back(name_of_thing(thing));
  return names;
}

/// `did you mean 'NAME'?` for the candidate at the smallest edit distance from `name`, or "" if none is near.
/// Names of several parts, `layer_0/attention/wq`, come before all others where `name` is one of them without some
/// parts before the last, such as `wq` or `layer_0/wq`: up to three of them, and how many more there are.
/// A transposition counts as one edit, a letter in another case as none. A candidate is near if at most a
/// third of the name's letters (but at least one) differ; a name of one letter is near only to itself in the
/// other case.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

/// The same; if none is near, for the first candidate that begins with `name`, which has at least two letters.
std::string did_you_mean_word(std::string_view name, const std::vector<std::string>& candidates);

/// `'NAME', 'NAME' and 17 more`: a few of the candidates, those nearest to `name` first.
std::string nearest_listed(std::string_view name, const std::vector<std::string>& candidates,
                           size_t most = 4);

}  // namespace mtfc
