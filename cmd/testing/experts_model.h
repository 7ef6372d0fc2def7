#pragma once
// A model with one layer of experts, written plainly (GShard, section 2): a product in front of it, gates, einsums that
// send tokens to places of experts and back, and a training step.

namespace mtfc {

inline const char* const kExpertsModel = R"({"mtfc": 1, "name": "experts",
 "dims": {"groups": 16, "tokens": 64, "experts": 8, "capacity": 16, "model": 64, "hidden": 256, "vocab": 512},
 "inputs": {"inputs": {"dims": ["groups", "tokens", "vocab"]}, "place": {"dims": ["groups", "tokens", "capacity"]}},
 "variables": {"w": {"dims": ["vocab", "model"], "init": {"normal": 0.1}},
               "wg": {"dims": ["model", "experts"], "init": {"normal": 0.1}},
               "wi": {"dims": ["experts", "model", "hidden"], "init": {"normal": 0.1}},
               "wo": {"dims": ["experts", "hidden", "model"], "init": {"normal": 0.1}}},
 "ops": [
  {"out": "x", "op": "einsum", "in": ["inputs", "w"], "dims": ["groups", "tokens", "model"]},
  {"out": "scores", "op": "einsum", "in": ["x", "wg"], "dims": ["groups", "tokens", "experts"]},
  {"out": "gate", "op": "sigmoid", "in": ["scores"]},
  {"out": "combine", "op": "einsum", "in": ["gate", "place"], "dims": ["groups", "tokens", "experts", "capacity"]},
  {"out": "sent", "op": "einsum", "in": ["combine", "x"], "dims": ["groups", "experts", "capacity", "model"]},
  {"out": "inner", "op": "einsum", "in": ["sent", "wi"], "dims": ["groups", "experts", "capacity", "hidden"]},
  {"out": "h", "op": "relu", "in": ["inner"]},
  {"out": "returned", "op": "einsum", "in": ["h", "wo"], "dims": ["groups", "experts", "capacity", "model"]},
  {"out": "y", "op": "einsum", "in": ["combine", "returned"], "dims": ["groups", "tokens", "model"]},
  {"out": "loss", "op": "reduce_mean", "in": {"op": "square", "in": ["y"]}}],
 "train": {"loss": "loss", "optimizer": {"kind": "sgd", "lr": 0.1}}, "outputs": ["loss"]})";

}  // namespace mtfc
