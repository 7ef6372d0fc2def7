#include "formats/report/generation_writer.h"

#include "formats/json/output_object.h"

namespace mtfc {
namespace {

using namespace schema_parts;

const OutputObject<GeneratedSequence> kSequence = {
    {"beginning", any_whole(), &GeneratedSequence::beginning},
    {"prompt", list_of(any_whole()), &GeneratedSequence::prompt},
    {"tokens", list_of(any_whole()), &GeneratedSequence::tokens},
    {"text", text(), &GeneratedSequence::text},
    {"score", real(), &GeneratedSequence::score}};

struct Generation {
  const std::string& model;
  const std::vector<GeneratedSequence>& sequences;
};

const OutputObject<Generation> kGeneration = {
    {"mtfc_generation", version(), kFirstVersion},
    {"model", text(), [](const Generation& generation) { return generation.model; }},
    {"sequences", list_of(kSequence.schema()),
     [](const Generation& generation) { return json_list(generation.sequences, kSequence); }}};

}  // namespace

std::string generation_json(const std::string& model, const std::vector<GeneratedSequence>& sequences) {
  return dump_lines(kGeneration.json({model, sequences}), 2);
}

std::string generation_schema() {
  return output_schema("mtfc generate", "What mtfc generate --format json prints", kGeneration.schema());
}

}  // namespace mtfc
