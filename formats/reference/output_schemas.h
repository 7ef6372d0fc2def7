#pragma once
// JSON Schemas (2020-12) of the files that mtfc writes, for programs that read them. Every object lists all its keys,
// so a key that is missing here is a mistake, and the tests validate the output of each command.

#include <string>

namespace mtfc {

std::string check_schema();
std::string difference_schema();
std::string explanation_schema();
std::string fit_schema();
std::string generation_schema();
/// Of one line of the metrics of a run.
std::string metrics_schema();
std::string placement_schema();
std::string program_schema();
std::string report_schema();
std::string run_report_schema();
std::string search_schema();

}  // namespace mtfc
