#pragma once
// The commands and options of a program as data, of which completion scripts and man pages are made. The parser fills
// it from the very options that it parses by (CommandLine::table), so the two cannot differ.

#include <string>
#include <vector>

namespace mtfc {

/// The options of a command, by purpose. Help has a heading for each, in this order.
enum class OptionGroup {
  kModel,
  kJob,
  kSearch,
  kReport,
  kMeasurement,
  kVerification,
  kTraining,
  kPrompts,
  kChoice,
  kData,
  kCheckpoints,
  kLimits,
  kRanks,
  kOutput,
  kGeneral,
};
/// All groups in this order, and the heading of one: "Model and layout".
const std::vector<OptionGroup>& option_groups();
const char* heading(OptionGroup group);

/// An option, or an argument without a name.
struct OptionEntry {
  std::vector<std::string>
      names;  // as in {"--quiet", "-q"}; of an argument the word that help shows, as in {"MODEL"}
  bool is_argument = false;
  bool takes_value = false;  // always true for an argument
  bool is_repeatable = false;
  bool is_required = false;
  std::string value;  // the word for the value, as in FILE.json; "" for a flag and for an argument
  std::vector<std::string> choices;    // all possible values, or none if there is no fixed list
  std::vector<std::string> proposals;  // some of the possible values
  std::string default_value;           // "" if help shows none
  std::string help;
  std::string group;  // the heading

  /// The file names that the value can be.
  enum class Files { kNone, kFolders, kAll, kEnding };
  Files files = Files::kNone;
  std::string ending;  // for kEnding: ".json"
};

struct CommandEntry {
  std::string name;
  std::string summary;
  std::string description;           // sentences; may be empty
  std::string examples;              // lines
  std::vector<OptionEntry> options;  // arguments come first, then options in the order of their groups
};

struct CommandTable {
  std::string program;
  std::string description;
  std::string version;               // what --version prints: "mtfc 0.1.0"
  std::vector<OptionEntry> options;  // those that the program has without a command
  std::vector<CommandEntry> commands;

  /// nullptr if there is none.
  const CommandEntry* find(const std::string& command) const;
};

/// Sets `files` and `ending` by the word for the value: FILE.npy, or one that contains FILE, MODEL, PROGRAM or DIR.
void find_files(OptionEntry& entry);

/// The beginning of a long help text, which is enough beside the name of an option in a list.
std::string brief(const std::string& help);

}  // namespace mtfc
