#pragma once
// A pipeline whose stages are not part of the layout: each is priced as its share of the program of one stage's
// devices, and the schedule is put together by arithmetic. This file goes when layouts have stages.
//
//   m microbatches, p stages of v chunks each (1F1B), t_i the time of a microbatch on stage i with its sends:
//     T = m * max t_i + (sum of t_i - max t_i) / v + the update of the slowest stage
//   stage i keeps the activations of min(m, p - i) microbatches, counted from 0; with v > 1 chunks, of
//   (2 (p - i - 1) + (v - 1) p + 1) / v.

#include <map>
#include <string>
#include <vector>

#include "cmd/validating/program_figures.h"
#include "core/cost/hardware.h"
#include "core/tensors/mesh.h"

namespace mtfc {

struct Pipeline {
  std::vector<double> layers;  // by stage
  double microbatches = 1;
  double chunks = 1;  // of each stage
};

struct PipelineFigures {
  double seconds = 0;
  std::map<std::string, double> parts_s;  // of the slowest stage, bubble and sends included
  std::vector<double> bytes;              // at the peak, by stage
};

/// `mesh` is that of one stage.
PipelineFigures pipeline_figures(const DepthFigures& depths, const Pipeline& pipeline, const Mesh& mesh,
                                 const Hardware& hardware);

}  // namespace mtfc
