#pragma once
// The topics of `mtfc help`: short pages on what is common to all commands, such as the format of a layout. They are
// also man pages of section 7. A topic is written in lines:
//
//   Text of a paragraph, up to an empty line.
//   * NAME :: its meaning,
//     in as many lines as needed
//   $ mtfc run model.json          a command
//   | {"mesh": {"all": 4}}         any other lines that stay as they are

#include <string>
#include <vector>

#include "core/diagnostics/error.h"

namespace mtfc {

struct Topic {
  const char* name;
  const char* summary;
  const char* text;
};

/// In the order in which help lists them.
const std::vector<Topic>& topics();
/// nullptr if there is none.
const Topic* find_topic(const std::string& name);

/// The names of the commands, and then of the topics.
std::vector<std::string> page_names(std::vector<std::string> commands);
/// The mistake that none of them is `name`, with the nearest one, or else the topic whose text has the word most often.
UserError unknown_page(const std::string& name, const std::vector<std::string>& commands);

/// A paragraph, an entry, or lines in a row of the other kinds.
struct TopicBlock {
  enum class Kind { kParagraph, kEntry, kCommands, kLines };
  Kind kind = Kind::kParagraph;
  std::string name;  // of an entry
  std::string text;  // in one line, or several for commands and lines, each with a newline
};
std::vector<TopicBlock> blocks_of(const Topic& topic);

/// The page for a terminal, in lines of at most `width` characters.
std::string topic_page(const Topic& topic, size_t width);
/// The list of topics below the help of the program.
std::string topic_list(size_t width);

}  // namespace mtfc
