#pragma once
// Reads layouts: the JSON file, and the short forms of the command line, `rows:2,cols:4` and
// `batch:rows,hidden:rows+cols` (parts separated by commas, semicolons or blanks). Among the rules, the short form may
// have `propagate`, a stage of ZeRO, `zero:3` or `zero:3:rows`, and rules between parts, `between:length:cols`.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensors/layout.h"
#include "core/tensors/mesh.h"
#include "formats/layout/found_for.h"

namespace mtfc {

/// Reads the short form. Throws one UserError with all mistakes.
Mesh parse_mesh(std::string_view text);

/// The sources of a layout on the command line. A mesh or rules given as flags replace those of the file.
struct LayoutSources {
  std::optional<std::string> mesh;       // short form
  std::optional<std::string> rules;      // short form
  std::optional<std::string> file_text;  // contents of a layout file
  std::string file;                      // its name, for messages
  std::optional<std::string>
      preset;                  // contents of a preset (preset.h), whose rules follow those of the flags
  bool preset_between = true;  // its rules between parts, too
};
/// A stage of ZeRO in the short form of rules, `zero:3` or `zero:3:rows`. Without axes it is over those that split the
/// batch, which only the model tells.
struct ZeroStage {
  int stage = 0;  // 0 to 3
  Location location;
  AxisList axes = {};
};

/// LayoutExtras hold what the sources state besides the layout.
struct LayoutExtras {
  std::optional<ZeroStage> zero = {};  // with_zero_stage() of core/model/zero_stage.h adds it to the layout
  std::optional<FoundFor> found_for = {};
  std::vector<std::string> preset_dims = {};  // whose rules count only if the model has them
};

/// Without any mesh, the layout has the mesh of one device. Adds to `warnings`, or drops them, and sets `extras`.
Layout read_layout(const LayoutSources& sources, std::vector<Diagnostic>& warnings,
                   LayoutExtras* extras = nullptr);
Layout read_layout(const LayoutSources& sources);

/// Returns what a user can write instead of JSON on the command line. Pairs such as `{"batch": "rows"}`, alone or as
/// the "rules" of a layout, become `batch:rows`. A layout with a mesh becomes both options, `--mesh rows:2 --layout
/// batch:rows`. The result is "" for JSON that has no short form.
std::string flags_of(std::string_view json);

/// Returns whether the value of `--layout` is a file: it ends in `.json`, or is `-`.
bool is_layout_file(std::string_view flag);

}  // namespace mtfc
