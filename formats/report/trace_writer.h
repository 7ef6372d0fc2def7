#pragma once
// The timeline of a run in the trace event format, which Perfetto (https://ui.perfetto.dev) and Chrome
// display.
//
// A process is a device: `rank 3 (rows=1,cols=0)`. Its track "steps" has one event per run of an entry point
// (`train step 12`) and, inside it, one per step of the program (`einsum h`, `start all_reduce w/grad`, `wait
// all_reduce w/grad`). Collectives are shown beside it as asynchronous events from their start to the end of
// their wait.

#include <functional>
#include <string_view>
#include <vector>

#include "core/program/program.h"
#include "core/program/timeline.h"

namespace mtfc {

/// Passes the text to `sink` piece by piece. `devices`: one timeline per rank.
void write_trace(const Program& program, const std::vector<DeviceTimeline>& devices,
                 const std::function<void(std::string_view)>& sink);

}  // namespace mtfc
