#include "cmd/generating/prompt_entry.h"

#include <algorithm>
#include <utility>

#include "core/diagnostics/error.h"
#include "core/diagnostics/suggest.h"
#include "core/model/decoding.h"

namespace mtfc {
namespace {

bool have_one_place(const ProgramVariable& a, const ProgramVariable& b) {
  return a.decl.name == b.decl.name && a.decl.type == b.decl.type && a.sharding == b.sharding &&
         a.offset == b.offset;
}

// Returns whether decode has the caches that `prompt` fills, with the same rows for each place, and nothing splits them
// along their places.
bool fills(const EntryPoint& prompt, const EntryPoint& decode) {
  const auto is_filled = [&](const ProgramVariable& filled) {
    const ProgramVariable* same = find_named(decode.caches, filled.decl.name);
    if (!same || same->sharding != filled.sharding || same->decl.type.dtype != filled.decl.type.dtype)
      return false;
    const Dims &places = same->decl.type.dims, &own = filled.decl.type.dims;
    for (size_t d = 0; d < own.size(); ++d)
      if (own[d].name == places[d].name ? own[d].size != places[d].size : !filled.sharding.dims[d].empty())
        return false;
    return true;
  };
  return std::all_of(prompt.caches.begin(), prompt.caches.end(), is_filled);
}

}  // namespace

bool share_weights(const Program& a, const Program& b) {
  return std::equal(a.variables.begin(), a.variables.end(), b.variables.begin(), b.variables.end(),
                    have_one_place);
}

std::optional<EntryPoint> compiled_prompt(Model model, const CompileOptions& options,
                                          const Program& program) {
  try {
    CompileOptions alone = options;
    alone.decode = true;
    alone.entries = {"prompt"};
    const Plan alike = with_variables(program.plan, program);
    Program prompt = compile(only_prompt(std::move(model)), program.layout, alone, alike);
    EntryPoint& entry = prompt.entry_points.front();
    if (!share_weights(prompt, program) || !fills(entry, *program.find("decode"))) return std::nullopt;
    return std::move(entry);
  } catch (const UserError&) {
    return std::nullopt;  // the layout does not allow this length, say
  }
}

}  // namespace mtfc
