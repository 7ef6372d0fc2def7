#pragma once
// Writes one sentence about the results of runs: it says whether the loss fell, and how long a step took.

#include <string>

#include "formats/report/runs_writer.h"

namespace mtfc {

/// One sentence, as plain text. Of one run: how the loss changed and where that of held-out data was least; of several:
/// which ends with the least loss, and which has the shortest steps.
std::string runs_verdict(const RunsReport& report);

/// Says that the efficiency (MFU) is not known, and why, if the steps of a run did more useful arithmetic than the peak
/// rate permits; otherwise "".
std::string mfu_note(const MetricsLog& log);

}  // namespace mtfc
