#include "cmd/options/text_output.h"

#include "cmd/options/command_line.h"
#include "cmd/options/file_endings.h"
#include "cmd/options/option_checks.h"

namespace mtfc {

void add_output_options(CommandLine& line, OutputFlags& flags) {
  line.set_group(OptionGroup::kOutput);
  line.add_option("--format", flags.format,
                  "text (default on standard output and for FILE.txt) or json (default for any other file)")
      .check(one_of({"text", "json"}));
  add_output_file(line, flags.file);
}

void add_output_file(CommandLine& line, std::string& file) {
  line.set_group(OptionGroup::kOutput);
  line.add_option("-o FILE", file, "output file; - is standard output").show_default();
}

bool is_json(const OutputFlags& flags, const std::string& what) {
  const FileKinds kinds{"-o", what, {{"json", "json"}, {"txt", "text"}}};
  return output_format(kinds, flags.file, flags.format, "text") == "json";
}

}  // namespace mtfc
