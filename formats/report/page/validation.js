// The page of `mtfc validate`: how far predictions are from what others have measured.

const secondsLabel = (number) => {
  const [size, unit] = unitOf(TIMES.filter(([, name]) => ["s", "ms", "us"].includes(name)), number);
  return `${+(number / size).toPrecision(3)} ${unit}`;
};

/** Predicted over measured times, both on one logarithmic scale, so that the right ones lie on the diagonal. */
function scatter({ sources }) {
  const drawn = sources.filter(({ points }) => points.length > 0), all = drawn.flatMap(({ points }) => points.flat());
  if (all.length === 0) return false;
  const axis = { from: 0.8 * least(all), to: 1.25 * most(all), isLogarithmic: true }, at = placeOn(axis);
  const ticks = powersWithin(axis.from, axis.to);
  const across = (number) => (WIDTH * at(number)).toFixed(1), up = (number) => (HEIGHT * (1 - at(number))).toFixed(1);
  const grid = ticks.flatMap((tick) => [`M0 ${up(tick)}H${WIDTH}`, `M${across(tick)} 0V${HEIGHT}`]);
  const line = (factor) => `M${across(axis.from)} ${up(axis.from * factor)}L${across(axis.to)} ${up(axis.to * factor)}`;
  const dots = drawn.map(({ points }, i) => html`<path class=dots stroke="var(--r${i % 8})" d="${
    points.map(([measured, predicted]) => `M${across(measured)} ${up(predicted)}h0`)}"/>`);
  const keys = drawn.map(({ name, points }, i) =>
    html`<span class=key><i style="background:var(--r${i % 8})"></i>${name} (${grouped(points.length)})</span> `);
  const inside = ticks.filter((tick) => at(tick) > 0.04 && at(tick) < 0.96);
  return html`<h2>Predicted and measured</h2><figure class=plot><p class=keys>${keys}</p><div class=plot-grid><div
class=plot-y aria-hidden=true>${inside.map((tick) => html`<span style="top:${percent(1 - at(tick))}">${
    secondsLabel(tick)}</span>`)}</div><svg class="plot-area square" viewBox="0 0 ${WIDTH} ${HEIGHT}"
preserveAspectRatio=none role=img aria-label="predicted over measured step times of ${grouped(all.length / 2)
} rows, on logarithmic scales; the tables below have the errors"><path class=grid d="${grid}"/><path class=even d="${
    line(1)}"/><path class=near d="${line(1.1)}${line(1 / 1.1)}"/>${dots}</svg><div class=plot-x aria-hidden=true>${
    inside.map((tick) => html`<span style="left:${percent(at(tick))}">${secondsLabel(tick)}</span>`)}</div></div>${
    paragraph("Measured step times run to the right, predicted ones up. On the line both are equal; between the dashed " +
      "lines they differ by at most a tenth.")}</figure>`;
}

const orDash = (cell) => (cell ? always(cell) : "-");
/** A column for each head, of the cells of the same index. */
const cellColumns = (heads, name) => heads.map((head, i) => [head, (row) => orDash(row[name][i])]);
const sourceName = ({ name, isSimulated }) => (isSimulated ? `${name} (simulated)` : name);

function scoresTable(title, label, { sources, total }, heads, name, about) {
  const rows = sources.filter((source) => source[name]);
  return rows.length > 0 && html`<h2>${title}</h2>${about && paragraph(about)}${table(label, rows,
    [["source", sourceName], ...cellColumns(heads, name)], { foot: total[name] && total })}`;
}

function refusedTable({ refused }) {
  return refused.length > 0 && html`<h2>Refused</h2>${paragraph("These rows need what mtfc lacks, and enter no figure.")}${
    table("refused rows", refused, [["source", 0], ["needs", 1, "word flow"], ["rows", 2]])}`;
}

/** The rows that err most, with their parts as bars in the order of the legend. */
function worstTable({ worst, parts }) {
  const colour = (part) => 1 + (parts.indexOf(part) % 15);
  return worst.length > 0 && html`<h2>The rows that err most</h2>${paragraph(parts.map((part) => key(colour(part), part)),
    "keys")}${table("the rows that err most", worst, [
    ["row", "name"], ["predicted", ({ predicted }) => always(predicted), "",
      (row) => [row.parts.map(([part, share]) => [share, colour(part)])]],
    ["measured", ({ measured }) => always(measured)], ["error", ({ error }) => always(error)],
    ["what the prediction consists of", "consists", "word flow"]])}`;
}

function fitSection({ fit }) {
  return fit && html`<h2>Fitted constants</h2>${paragraph(fit.about)}${table("fitted constants", fit.keys,
    [["key", 0], ["before", 1], ["after", 2]])}${fit.notes.map((note) => paragraph(note))}${
    fit.rows.length > 0 && html`<details class=more><summary>Rows that it was fitted on</summary><div class=members>${
      fit.rows.map((row) => row + "\n")}</div></details>`}`;
}

function validationPage(data) {
  return html`<main><h1>${data.title}</h1>${paragraph(data.verdict, "verdict")}${[
    data.bars.map(([text, isMissed]) => paragraph(text, isMissed ? "bad" : "dim")), figures(data.figures), scatter(data),
    scoresTable("Step times by source", "step times by source", data, data.timeHeads, "time", data.stages),
    scoresTable("Step times by efficiency", "step times by efficiency", data, data.bandHeads, "bands",
      "The mean error, and in parentheses the number of rows, by the share of the peak rate that the run has reached. " +
      "Below 5 % steps are launches and small messages."),
    scoresTable("Memory by source", "memory by source", data, data.memoryHeads, "memory"),
    worstTable(data), refusedTable(data), fitSection(data), facts([["command", data.command, true]])]}</main>`;
}
