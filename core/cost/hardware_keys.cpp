#include "core/cost/hardware_keys.h"

namespace mtfc {
namespace {

constexpr std::string_view kBytes = "bytes", kBytesPerSecond = "bytes per second", kSeconds = "seconds";

const HardwareKey<Hardware> kHardwareKeys[] = {
    {"name", true, &Hardware::name, ""},
    {"doc", false, &Hardware::doc, ""},
    {"base", false, HardwarePart::kBase,
     "the profile, bundled or a file beside this one, that has all values that this one does not state"},
    {"factors", false, HardwarePart::kFactors,
     "by which values of the base are multiplied, by their paths, such as axes/*/bytes_per_s; a curve or a "
     "table is "
     "multiplied as a whole"},
    {"ranks", false, CountField<Hardware>{&Hardware::ranks},
     "the ranks with which the profile was measured; one rank cannot measure the links between ranks"},
    {"threads_per_rank", false, CountField<Hardware>{&Hardware::threads_per_rank},
     "the threads that each of these ranks had"},
    {"flops", true, HardwarePart::kFlops, "operations per second of one device, by dtype"},
    {"memory_bytes", true, NumberField<Hardware>{&Hardware::memory_bytes, NumberRange::kAboveZero, kBytes},
     "the memory of one device"},
    {"reserved_bytes", false,
     NumberField<Hardware>{&Hardware::reserved_bytes, NumberRange::kNotNegative, kBytes},
     "the part of it that programs can't use, since drivers and libraries do; default: 0"},
    {"memory_bandwidth", true, CurveField<Hardware>{&Hardware::memory_bandwidth, kBytesPerSecond},
     "bytes per second that one device reads, by the number of bytes touched since the same bytes were last "
     "touched"},
    {"write_bandwidth", false, OptionalCurveField<Hardware>{&Hardware::write_bandwidth, kBytesPerSecond},
     "bytes per second of data that is only written; default: as for reading"},
    {"overlap", false, NumberField<Hardware>{&Hardware::overlap, NumberRange::kZeroToOne, ""},
     "the share of the shorter of arithmetic and memory traffic that the longer of the two hides"},
    {"step_overhead_s", false,
     NumberField<Hardware>{&Hardware::step_overhead_s, NumberRange::kNotNegative, kSeconds},
     "seconds that every kernel takes in addition"},
    {"issue_s", false, NumberField<Hardware>{&Hardware::issue_s, NumberRange::kNotNegative, kSeconds},
     "seconds that a processor takes to issue a kernel or a collective, beside the device; default: 0"},
    {"program_overhead_s", false,
     NumberField<Hardware>{&Hardware::program_overhead_s, NumberRange::kNotNegative, kSeconds},
     "seconds that every run of a program takes in addition; default: 0"},
    {"efficiency", false, HardwarePart::kEfficiency,
     "share of the peak that an operation, or a class of kernels, reaches"},
    {"axes", true, HardwarePart::kAxes, "the link of each axis of the mesh; \"*\" is that of all other axes"},
    {"topology", false, HardwarePart::kTopology, ""},
    {"sources", false, HardwarePart::kSources,
     "the origins of the values, by their paths in this file, such as flops/bf16; a shorter path covers all "
     "values "
     "below it"},
};

const HardwareKey<Rate> kRateKeys[] = {
    {"latency_s", true, NumberField<Rate>{&Rate::latency_s, NumberRange::kNotNegative, kSeconds},
     "the fixed seconds of a message"},
    {"bytes_per_s", true, CurveField<Rate>{&Rate::bytes_per_s, kBytesPerSecond},
     "bandwidth of one device along the axis, by bytes sent"},
    {"fixed_s", false, NumberField<Rate>{&Rate::fixed_s, NumberRange::kNotNegative, kSeconds},
     "the fixed seconds of a collective, beside those of its messages; default: 0"},
    {"members_share", false, CurveField<Rate>{&Rate::members_share, "share of bytes_per_s", 1},
     "the share of bytes_per_s that a group reaches, by the number of its devices; default: 1"},
};

const HardwareKey<Link> kLinkKeys[] = {
    {"overlaps", false, &Link::overlaps, "true (the default) if kernels can run while the link moves data"},
    {"slows_kernels", false, NumberField<Link>{&Link::slows_kernels, NumberRange::kAtLeastOne, ""},
     "the factor by which kernels take longer while it moves data; default: 1"},
    {"slowed_by_kernels", false, NumberField<Link>{&Link::slowed_by_kernels, NumberRange::kAtLeastOne, ""},
     "the factor by which it takes longer to move data while kernels run; default: 1"},
    {"collectives", false, HardwarePart::kCollectives, "the rates of those kinds of collectives that differ"},
    {"doc", false, HardwarePart::kNote, ""},
};

}  // namespace

std::span<const HardwareKey<Hardware>> hardware_keys() {
  return kHardwareKeys;
}
std::span<const HardwareKey<Rate>> rate_keys() {
  return kRateKeys;
}
std::span<const HardwareKey<Link>> link_keys() {
  return kLinkKeys;
}

std::vector<std::string> plain_topologies() {
  std::vector<std::string> names = enum_names<Topology>();
  std::erase(names, to_string(Topology::kTwoLevel));
  return names;
}

}  // namespace mtfc
