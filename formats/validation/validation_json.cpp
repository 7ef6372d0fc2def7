#include "formats/json/output_object.h"
#include "formats/validation/validation_writer.h"

namespace mtfc {
namespace {

using namespace schema_parts;

std::optional<double> if_any(const ErrorScore& score, double ErrorScore::*figure) {
  return score.count > 0 ? std::optional(score.*figure) : std::nullopt;
}

const OutputObject<ErrorScore> kErrorScore = {
    {"rows", whole("with both figures"), &ErrorScore::count},
    {"mean", real("of absolute relative errors; 0.1 is 10 %"),
     [](const ErrorScore& score) { return if_any(score, &ErrorScore::mean); }},
    {"median", real(), [](const ErrorScore& score) { return if_any(score, &ErrorScore::median); }},
    {"largest", real(), [](const ErrorScore& score) { return if_any(score, &ErrorScore::largest); }},
    {"bias", real("the mean of relative errors with their signs"),
     [](const ErrorScore& score) { return if_any(score, &ErrorScore::bias); }},
    {"within_tenth", real("the share of rows whose error is at most 10 %"),
     [](const ErrorScore& score) { return if_any(score, &ErrorScore::within_tenth); }}};

const OutputObject<PickScore> kPickScore = {
    {"groups", whole("of rows that do the same work on as many devices"), &PickScore::groups},
    {"good", whole("in which the fastest by prediction took at most 5 % longer than the fastest"),
     &PickScore::good},
    {"worst", real("by how much it took longer at most"), &PickScore::worst},
    {"order", real("the share of pairs of rows, more than 5 % apart, in the right order"), &PickScore::rank}};

const OutputObject<FitScore> kFitScore = {
    {"ok_fits", whole("runs that ended well, and fit by prediction"), &FitScore::ok_fits},
    {"ok_exceeds", whole("that ended well, and do not fit by prediction"), &FitScore::ok_exceeds},
    {"failed_fits", whole(), &FitScore::oom_fits},
    {"failed_exceeds", whole(), &FitScore::oom_exceeds}};

const OutputObject<SourceScore> kSourceScore = {
    {"source", text(), &SourceScore::source},
    {"simulated", flag("its rows enter no total"),
     [](const SourceScore& score) { return unless_empty(score.is_simulated); }},
    {"rows", whole(), &SourceScore::rows},
    {"predicted", whole("rows that mtfc expresses"), &SourceScore::predicted},
    {"outside_stages", whole("rows whose stages are put together by arithmetic"),
     &SourceScore::outside_stages},
    {"refused", map_schema(whole(), "the number of rows by the feature that they need"),
     [](const SourceScore& score) {
       Json refused = Json::object();
       for (const auto& [feature, count] : score.refused) refused[feature] = count;
       return refused;
     }},
    {"time", kErrorScore, [](const SourceScore& score) { return score.time; }},
    {"time_by_efficiency", list_of(kErrorScore.schema(), "from 0, 5, 20 and 35 % of the peak rate on"),
     [](const SourceScore& score) { return json_list(score.time_by_band, kErrorScore); }},
    {"picks", kPickScore, [](const SourceScore& score) { return score.picks; }},
    {"memory", kErrorScore, [](const SourceScore& score) { return score.memory; }},
    {"fit", kFitScore, [](const SourceScore& score) { return score.fit; }}};

const OutputObject<RowResult> kRowResult = {
    {"id", text(), [](const RowResult& result) { return result.row.id; }},
    {"source", text(), [](const RowResult& result) { return result.row.source; }},
    {"kind", name_of<RowKind>(), [](const RowResult& result) { return to_string(result.row.kind); }},
    {"status", name_of<RowStatus>(), [](const RowResult& result) { return to_string(result.row.status); }},
    {"refused_for", text("the feature that the row needs"),
     [](const RowResult& result) { return unless_empty(result.refused_for); }},
    {"reason", text(), [](const RowResult& result) { return unless_empty(result.reason); }},
    {"measured_s", real(), [](const RowResult& result) { return result.row.seconds; }},
    {"predicted_s", real(),
     [](const RowResult& result) { return when(result.is_predicted(), result.seconds); }},
    {"parts_s", map_schema(real(), "the seconds that the prediction consists of"),
     [](const RowResult& result) {
       Json parts = Json::object();
       for (const auto& [part, seconds] : result.parts_s) parts[part] = seconds;
       return when(result.is_predicted(), parts);
     }},
    {"efficiency", real("the share of the peak rate that the run has reached"),
     [](const RowResult& result) {
       return result.has_time() ? std::optional(result.efficiency()) : std::nullopt;
     }},
    {"repeat_sd", real("of measured_s over repetitions"),
     [](const RowResult& result) { return result.row.repeat_sd; }},
    {"measured_bytes", real(), [](const RowResult& result) { return result.row.memory_bytes; }},
    {"memory_kind", name_of<RowMemory>(),
     [](const RowResult& result) {
       return when(result.row.memory_bytes.has_value(), to_string(result.row.memory_kind));
     }},
    {"predicted_bytes", real("of the stage whose memory the row states"),
     [](const RowResult& result) { return when(result.is_predicted(), result.bytes); }},
    {"largest_bytes", real("of any stage"),
     [](const RowResult& result) { return when(result.is_predicted(), result.most_bytes); }},
    {"device_bytes", real("that programs may use"),
     [](const RowResult& result) { return unless_empty(result.device_bytes); }},
    {"outside_stages", flag("the stages are put together by arithmetic"),
     [](const RowResult& result) { return unless_empty(result.has_outside_stages); }}};

const OutputObject<ErrorBar> kErrorBar = {
    {"source", text(), &ErrorBar::source},
    {"of", text("time, median or memory"), &ErrorBar::of},
    {"limit", real(), &ErrorBar::limit},
    {"found", real("the error"), &ErrorBar::found},
    {"missed", flag(), [](const ErrorBar& bar) { return bar.is_missed(); }}};

const OutputObject<FittedKey> kFittedKey = {{"key", text(), &FittedKey::key},
                                            {"before", real(), &FittedKey::before},
                                            {"after", real(), &FittedKey::after}};

using SourceError = std::pair<std::string, ErrorScore>;
const OutputObject<SourceError> kSourceError = {{"source", text(), &SourceError::first},
                                                {"time", kErrorScore, &SourceError::second}};

const OutputObject<FitSummary> kFitSummary = {
    {"on", text("the filter of the rows that it was fitted on"), &FitSummary::on},
    {"keys", list_of(kFittedKey.schema()),
     [](const FitSummary& fit) { return json_list(fit.keys, kFittedKey); }},
    {"profiles", texts(), &FitSummary::profiles},
    {"rows", texts("that it was fitted on"), &FitSummary::rows},
    {"before_on_these", kErrorScore, &FitSummary::before_on},
    {"after_on_these", kErrorScore, &FitSummary::after_on},
    {"before_on_others", kErrorScore, &FitSummary::before_rest},
    {"after_on_others", kErrorScore, &FitSummary::after_rest},
    {"without_source", list_of(kSourceError.schema(), "of the rows of a source, fitted on those of others"),
     [](const FitSummary& fit) { return json_list(fit.without_source, kSourceError); }}};

const OutputObject<ValidationReport> kValidation = {
    {"mtfc_validation", version(), kFirstVersion},
    {"all", kSourceScore, [](const ValidationReport& report) { return report.scores.all; }},
    {"sources", list_of(kSourceScore.schema()),
     [](const ValidationReport& report) { return json_list(report.scores.sources, kSourceScore); }},
    {"bars", list_of(kErrorBar.schema()),
     [](const ValidationReport& report) { return json_list(report.bars, kErrorBar); }},
    {"fit", kFitSummary, &ValidationReport::fit},
    {"rows", list_of(kRowResult.schema()),
     [](const ValidationReport& report) { return json_list(report.results, kRowResult); }}};

}  // namespace

std::string validation_json(const ValidationReport& report) {
  return dump_lines(kValidation.json(report), 3);
}

std::string validation_schema() {
  return output_schema("mtfc validate", "What mtfc validate --format json prints", kValidation.schema(), {});
}

}  // namespace mtfc
