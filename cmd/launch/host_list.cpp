#include "cmd/launch/host_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>

#include "core/diagnostics/error.h"

namespace mtfc {
namespace {

constexpr size_t kMostDigits = 6;  // of a number of ranks

bool is_name(const std::string& text) {
  return !text.empty() && text[0] != '-' && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '.' || c == '-' || c == '_';
  });
}

bool is_count(const std::string& text) {
  return !text.empty() && text.size() <= kMostDigits && text[0] != '0' &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); });
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream list(text + ",");  // so that a comma at the end leaves an empty word
  for (std::string word; std::getline(list, word, ',');) words.push_back(word);
  return words;
}

std::string problem_of(const std::string& text) {
  std::set<std::string> names;
  for (const std::string& word : words_of(text)) {
    const size_t colon = word.find(':');
    const std::string name = word.substr(0, colon);
    if (!is_name(name) || (colon != std::string::npos && !is_count(word.substr(colon + 1))))
      return fmt::format("expected hosts such as a,b or a:2,b:2, found '{}'", word);
    if (!names.insert(name).second) return fmt::format("the host '{}' is named twice", name);
  }
  return "";
}

}  // namespace

ValueCheck list_of_hosts() {
  return {problem_of};
}

std::vector<Host> parse_hosts(const std::string& text) {
  std::vector<Host> hosts;
  for (const std::string& word : words_of(text)) {
    const size_t colon = word.find(':');
    hosts.push_back(
        {word.substr(0, colon), colon == std::string::npos ? 0 : std::stoll(word.substr(colon + 1))});
  }
  if (std::any_of(hosts.begin(), hosts.end(), [](const Host& host) { return host.ranks > 0; }))
    for (Host& host : hosts) host.ranks = std::max<int64_t>(host.ranks, 1);
  return hosts;
}

int64_t room(const std::vector<Host>& hosts) {
  int64_t ranks = 0;
  for (const Host& host : hosts) ranks += host.ranks;
  return ranks > 0 ? ranks : -1;
}

std::vector<Host> placed(const std::vector<Host>& hosts, int64_t ranks) {
  const int64_t most = room(hosts), count = static_cast<int64_t>(hosts.size());
  if (most >= 0 && most < ranks)
    throw UserError(fmt::format("the mesh has {} devices, but --hosts has room for {} {}", ranks, most,
                                most == 1 ? "rank" : "ranks"),
                    "name more hosts, or give them more ranks, as in a:4,b:4");
  std::vector<Host> all;
  int64_t left = ranks;
  for (int64_t i = 0; i < count; ++i) {
    const Host& host = hosts[static_cast<size_t>(i)];
    const int64_t share = most < 0 ? ranks / count + (i < ranks % count ? 1 : 0) : std::min(host.ranks, left);
    if (share > 0) all.push_back({host.name, share});
    left -= share;
  }
  return all;
}

std::string to_string(const std::vector<Host>& hosts) {
  std::string text;
  for (const Host& host : hosts)
    text += fmt::format("{}{}{}", text.empty() ? "" : ",", host.name,
                        host.ranks > 0 ? fmt::format(":{}", host.ranks) : "");
  return text;
}

}  // namespace mtfc
