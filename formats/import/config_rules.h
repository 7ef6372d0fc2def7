#pragma once
// Reads a published model's config.json. The object "import" of its family (models/families/) says what each key means:
//
//   "import": {
//     "needs": ["hidden_size"],                        keys that a config.json must have
//     "groups": ["rotary"],                            objects of keys in models/families/keys.json, beside "any"
//     "keys": {
//       "hidden_size": "d_model",                      the value of a param or dimension; null keeps the family's
//       "torch_dtype": null,                           makes no difference
//       "hidden_act": {"silu": {}, "relu": {"silu": 0}},   values that may occur, and what is set for each
//       "cap": {"number": "cap", "null": {"cap": 0}},  a number, or one of several values
//       "experts_per_token": {"same_as": "experts"},   the value that another key has, too
//       "rope_scaling": {"null": {}, "object": {…}},   an object with keys of its own, as under "keys"
//       "short_factor": {"list": {"numbers": "rope_short"}},   a list of numbers
//       "id2label": {"count": "classes"},              the number of members of an object
//       "layer_types": {"list": {"last": "full", "others": ["sliding"], "period": "full_every"}}
//     }                                                a list of which every p-th item is `last`, and p is set; p is
//   }                                                  more than the number of items if none is
//
// Every key that a config.json has must be among these.

#include <map>
#include <string>

#include "formats/json/cursor.h"

namespace mtfc {

/// Params and dimensions, and their values as JSON.
using ImportedSettings = std::map<std::string, std::string>;

/// Reads `config`, a config.json, by the rules of `family`, the file of a family. `groups`: the groups of keys that
/// several families share; keys of the family take precedence. Records errors in the sinks of `config` and the rules.
ImportedSettings read_config(const Cursor& config, const Cursor& family, const Cursor& groups);

}  // namespace mtfc
