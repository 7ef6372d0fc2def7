#include "cmd/options/command_table.h"

#include <algorithm>
#include <utility>

#include "core/diagnostics/suggest.h"

namespace mtfc {
namespace {

constexpr size_t kLongHelp = 70;
constexpr size_t kLeastBrief =
    15;  // less says too little, as would "bf16" of "bf16: mixed precision; f64: ..."

const std::vector<std::pair<OptionGroup, const char*>>& headings() {
  static const std::vector<std::pair<OptionGroup, const char*>> kHeadings = {
      {OptionGroup::kModel, "Model and layout"},
      {OptionGroup::kJob, "Job"},
      {OptionGroup::kSearch, "Search"},
      {OptionGroup::kReport, "Contents of the report"},
      {OptionGroup::kMeasurement, "Measurement"},
      {OptionGroup::kVerification, "Verification"},
      {OptionGroup::kTraining, "Training and evaluation"},
      {OptionGroup::kPrompts, "Prompts and sources"},
      {OptionGroup::kChoice, "Choice of tokens"},
      {OptionGroup::kData, "Data and weights"},
      {OptionGroup::kCheckpoints, "Checkpoints"},
      {OptionGroup::kLimits, "Hardware and limits"},
      {OptionGroup::kRanks, "Ranks and hosts"},
      {OptionGroup::kOutput, "Output"},
      {OptionGroup::kGeneral, "General"},
  };
  return kHeadings;
}

}  // namespace

const std::vector<OptionGroup>& option_groups() {
  static const std::vector<OptionGroup> kGroups = [] {
    std::vector<OptionGroup> groups;
    for (const auto& [group, text] : headings()) groups.push_back(group);
    return groups;
  }();
  return kGroups;
}

const char* heading(OptionGroup group) {
  return std::find_if(headings().begin(), headings().end(),
                      [&](const auto& row) { return row.first == group; })
      ->second;
}

const CommandEntry* CommandTable::find(const std::string& command) const {
  return find_named(commands, command);
}

void find_files(OptionEntry& entry) {
  const std::string& word = entry.is_argument ? entry.names.front() : entry.value;
  const auto has = [&](const char* part) { return word.find(part) != std::string::npos; };
  if (const size_t dot = word.find("FILE."); dot != std::string::npos) {
    entry.files = OptionEntry::Files::kEnding;
    entry.ending = word.substr(dot + 4);
  } else if (has("MODEL") || has("PROGRAM")) {
    entry.files = OptionEntry::Files::kEnding;
    entry.ending = ".json";
  } else if (has("FILE") || has("SPEC") || has("FROM=TO")) {
    entry.files = OptionEntry::Files::kAll;
  } else if (has("DIR")) {
    entry.files = OptionEntry::Files::kFolders;
  }
}

std::string brief(const std::string& help) {
  if (help.size() <= kLongHelp) return help;
  const size_t end = std::min({help.find("; ", kLeastBrief), help.find(": ", kLeastBrief),
                               help.find(" (", kLeastBrief), help.size()});
  return help.substr(0, end);
}

}  // namespace mtfc
