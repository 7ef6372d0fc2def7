#include "formats/report/generation_writer.h"

#include "formats/json/ordered_json.h"

namespace mtfc {

std::string generation_json(const std::string& model, const std::vector<GeneratedSequence>& sequences) {
  std::string lines;
  for (const GeneratedSequence& sequence : sequences) {
    Json json = {{"beginning", sequence.beginning}, {"prompt", sequence.prompt}, {"tokens", sequence.tokens}};
    if (sequence.text) json["text"] = *sequence.text;
    if (sequence.score) json["score"] = *sequence.score;
    lines += (lines.empty() ? "\n  " : ",\n  ") + json.dump();
  }
  return "{\"mtfc_generation\": 1, \"model\": " + Json(model).dump() + ", \"sequences\": [" + lines +
         (lines.empty() ? "]}\n" : "\n]}\n");
}

}  // namespace mtfc
