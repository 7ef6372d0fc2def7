#pragma once
// Man pages, in the macros `man` of troff, made of the table of commands and of the topics.

#include <string>
#include <vector>

#include "cmd/manual/topics.h"
#include "cmd/options/command_table.h"

namespace mtfc {

struct ManPage {
  std::string name;  // mtfc-run
  int section = 1;
  std::string text;
};

/// mtfc(1), mtfc-COMMAND(1) and mtfc-TOPIC(7).
std::string program_man_page(const CommandTable& table);
std::string command_man_page(const CommandTable& table, const CommandEntry& command);
std::string topic_man_page(const CommandTable& table, const Topic& topic);

/// All of them.
std::vector<ManPage> man_pages(const CommandTable& table);

}  // namespace mtfc
