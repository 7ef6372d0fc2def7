#pragma once
// The models that ship with mtfc for published ones, and reading such a published model in the place of one of mtfc's.

#include <string>

#include "formats/import/model_import.h"

namespace mtfc {

/// The files of models/families/.
FamilyFiles family_files();

/// The file that a MODEL argument means: the config.json in a folder of a published model, or `path` itself. Throws
/// UserError for a folder without one.
std::string model_file(const std::string& path);
/// The folder of the published model that a MODEL argument means; "" if it means none.
std::string published_folder(const std::string& path);

/// The tokenizer.json or tokenizer.model that lies beside the file of a MODEL argument; "" if there is none.
std::string tokenizer_of_model(const std::string& path);

}  // namespace mtfc
