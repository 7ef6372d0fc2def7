// The page of `mtfc report`: one or several runs, their curves, and where their time went.

const WIDTH = 1000, HEIGHT = 300;  // of a drawing
const HELD_OUT = "held-out data";

/** A drawing of a metric over steps or time: a line for each run, and one for its held-out data. */
function plotOf(runs, metric, isOverTime, beginsAtZero = false) {
  const isOnly = runs.length === 1, title = `${metric} over ${isOverTime ? "time" : "steps"}`;
  const lines = runs.flatMap(({ file, lines: all, metrics }, run) => metrics
    .filter(({ name, output, count }) => count > 0 && (name === metric || output === metric))
    .map(({ output, isHeldOut, points, ...own }) => {
      const [steps, seconds, at, y, text, lows, highs, breaks] = range(8).map((i) => points.map((point) => point[i]));
      return {
        ...own, all, at, y, text, lows, highs, breaks, isHeldOut,
        x: isOverTime ? seconds : steps,
        name: [!isOnly && file, isHeldOut && HELD_OUT].filter(Boolean).join(", ") || (output ? "training" : metric),
        run: isOnly && isHeldOut ? 1 : run,
        isDotted: y.length === 1 || (isHeldOut && y.length <= 60),
      };
    }));
  return { metric, title, isOverTime, lines, x: xAxis(lines, isOverTime), y: yAxis(metric, lines, beginsAtZero) };
}
function xAxis(lines, isOverTime) {
  const from = least(lines.map(({ x }) => x[0])), end = most(lines.map(({ x }) => x[x.length - 1]));
  const to = end > from ? end : from + 1;
  const steps = () => roundNumbers(from, to, 5).filter(Number.isInteger).map((step) => [step, grouped(step)]);
  return { from, to, ticks: isOverTime ? ticksOf(from, to, 5, TIMES) : steps() };
}
/** What falls far is on a logarithmic axis, but never an accuracy. */
function yAxis(metric, lines, beginsAtZero) {
  const low = least(lines.flatMap(({ lows }) => lows));
  const high = -least(lines.flatMap(({ highs }) => highs.map((y) => -y)));
  const falls = lines.some(({ y }) => y[y.length - 1] < y[0]);
  const text = (tick) => metric === "mfu" ? `${+(100 * tick).toPrecision(3)} %`
    : metric.endsWith("_per_second") ? grouped(+tick.toPrecision(4)) : `${+tick.toPrecision(4)}`;
  const ticks = (from, to) => metric === "step_time" ? ticksOf(from, to, 5, TIMES)
    : roundNumbers(from, to, 5).map((tick) => [tick, text(tick)]);
  if (!beginsAtZero && !metric.includes("accuracy") && falls && low > 0 && high / low >= 30) {
    const from = low / 1.05, to = high * 1.05, [size, unit] = metric === "step_time" ? unitOf(TIMES, to) : [1, ""];
    const label = (tick) => (unit ? `${tick} ${unit}` : text(tick));
    const marks = powersWithin(from / size, to / size).map((tick) => [tick * size, label(tick)]);
    return { from, to, isLogarithmic: true, ticks: marks };
  }
  // Numbers may be equal, or so large or small that a margin is lost in rounding.
  const margin = [0.05 * (high - low), 0.05 * Math.abs(low), 1].find((each) => low - each < high + each);
  const [from, to] = beginsAtZero && low >= 0 ? [0, high > 0 ? 1.05 * high : 1] : [low - margin, high + margin];
  return { from, to, ticks: ticks(from, to) };
}
/** Powers of ten within a range, and if they are few the numbers 2 and 5 times as large. */
function powersWithin(from, to) {
  const decades = Math.log10(to / from), first = Math.floor(Math.log10(from));
  const every = Math.max(1, Math.ceil(decades / 5));
  return range(Math.ceil(decades) + 2).map((i) => first + i).filter((power) => power % every === 0)
    .flatMap((power) => (decades > 2 ? [1] : [1, 2, 5]).map((factor) => +`${factor}e${power}`))
    .filter((tick) => tick >= from && tick <= to);
}
/** The place of a number, from 0 to 1. */
const placeOn = ({ from, to, isLogarithmic }) => isLogarithmic
  ? (number) => Math.log(number / from) / Math.log(to / from)
  : (number) => (number - from) / (to - from);

// Lines are told apart without colours, too: by run, from the second on.
const strokeOf = ({ run }) => {
  const dash = ["", "9 4", "2 4", "12 4 2 4"][run % 4];
  return html`stroke="var(--r${run % 8})"${dash && html` stroke-dasharray="${dash}"`}`;
};
/** The range of the steps that each point stands for, the line with its gaps, and dots. */
function plotLine(line, xOf, yOf) {
  const { x, y, lows, highs, breaks, run, isHeldOut, isDotted } = line;
  const at = (i, number) => `${(WIDTH * xOf(x[i])).toFixed(1)} ${(HEIGHT * (1 - yOf(number))).toFixed(1)}`;
  const isBroken = (i) => i === 0 || (!isHeldOut && breaks[i]);
  return [lows.some((low, i) => low < highs[i]) && html`<path class=band style="fill:var(--r${run % 8})" d="M${
    highs.map((high, i) => at(i, high)).join("L")}${lows.map((low, i) => `L${at(i, low)}`).reverse()}Z"/>`,
  html`<path ${strokeOf(line)} d="${y.map((number, i) => (isBroken(i) ? "M" : "L") + at(i, number))}"/>`,
  isDotted && html`<path class=dots stroke="var(--r${run % 8})" d="${y.map((number, i) => `M${at(i, number)}h0`)}"/>`];
}
const plotKey = (line) => html`<span class=key><svg viewBox="0 0 32 10" aria-hidden=true><path ${strokeOf(line)
} d="M0 5L32 5"/>${line.isDotted && html`<path class=dots stroke="var(--r${line.run % 8})" d="M16 5h0"/>`}</svg>${
  line.name}</span> `;

/** `training: 2.36 at step 1, 0.259 at step 100; from 0.251 to 2.36` */
function lineSummary({ name, count, first, firstStep, firstTime, last, lastStep, lastTime, ...line }, isOverTime) {
  const end = (figure, step, time) => `${figure[1]} ${isOverTime ? `after ${time}` : `at step ${step[1]}`}`;
  const begin = `${name}: ${end(first, firstStep, firstTime)}`;
  return count === 1 ? begin : `${begin}, ${end(last, lastStep, lastTime)}; from ${line.least[1]} to ${line.most[1]}`;
}
/** The places at which a drawing has numbers, in order. */
const plotPlaces = ({ lines }) => [...new Set(lines.flatMap(({ x }) => x))].sort((a, b) => a - b);
/** `step 7: a.jsonl 2.31, b.jsonl 2.32`: what the lines are at a place, or were last. */
function readoutText({ lines, isOverTime }, place) {
  const here = lines.find(({ x }) => x.includes(place)), begun = lines.filter(({ x }) => x[0] <= place);
  const where = isOverTime ? here.at[here.x.indexOf(place)] : `step ${grouped(Math.round(place))}`;
  const texts = begun.map(({ name, x, text }) => `${name} ${text[x.filter((each) => each <= place).length - 1]}`);
  return `${where}: ${texts.join(", ")}`;
}

/** Lines over steps or time, with a legend and a summary. A slider shows the numbers, which the pointer moves, too. */
function plotFigure(plot, number) {
  const { title, isOverTime, x, y, lines } = plot, xOf = placeOn(x), yOf = placeOn(y), places = plotPlaces(plot);
  const grid = [...y.ticks.map(([at]) => `M0 ${(HEIGHT * (1 - yOf(at))).toFixed(1)}H${WIDTH}`),
    ...x.ticks.map(([at]) => `M${(WIDTH * xOf(at)).toFixed(1)} 0V${HEIGHT}`)];
  const left = y.ticks.map(([at, text]) => html`<span style="top:${percent(1 - yOf(at))}">${text}</span>`);
  const below = x.ticks.filter(([at]) => xOf(at) > 0.05 && xOf(at) < 0.95)  // others would stand out of the drawing
    .map(([at, text]) => html`<span style="left:${percent(xOf(at))}">${text}</span>`);
  const last = readoutText(plot, places[places.length - 1]);
  const summaries = lines.map((line) => lineSummary(line, isOverTime));
  const missing = lines.filter(({ isHeldOut, all, count }) => !isHeldOut && all > count).map(({ name, all, count }) =>
    `${name}: ${grouped(all - count)} of ${grouped(all)} steps have no finite number.`);
  const notes = [...summaries, ...missing, ...(y.isLogarithmic ? ["logarithmic scale"] : [])];
  return html`<figure class=plot data-plot=${number}><h3>${title}</h3><p class=keys>${lines.map(plotKey)}</p><div
class=plot-grid><div class=plot-y aria-hidden=true>${left}</div><svg class=plot-area viewBox="0 0 ${WIDTH} ${HEIGHT}"
preserveAspectRatio=none role=img aria-label="${title}${y.isLogarithmic && ", on a logarithmic scale"}. ${
    summaries.join(". ")}"><path class=grid d="${grid}"/>${lines.map((line) => plotLine(line, xOf, yOf))}<path
class=cursor d=""/></svg><div class=plot-x aria-hidden=true>${below}</div></div><p class=readout><label>Values at<input
type=range min=0 max=${places.length - 1} value=${places.length - 1} aria-valuetext="${last}"></label><output>${
    last}</output></p>${notes.map((note) => html`<p>${note}</p>`)}</figure>\n`;
}

/** All drawings, by their sections: outputs with the loss first, and how fast steps were. */
function plotsOf({ runs }) {
  const timed = runs.every(({ elapsed }) => elapsed), metrics = runs.flatMap((run) => run.metrics);
  const outputs = [...new Set(metrics.map(({ output }) => output).filter(Boolean))]
    .sort((a, b) => (b === "loss") - (a === "loss"));
  const rate = metrics.some(({ name }) => name === "tokens_per_second") ? "tokens_per_second" : "samples_per_second";
  const plots = [
    ...outputs.map((output) => ["Curves", output, false]),
    ...(runs.length > 1 && timed && outputs[0] === "loss" ? [["Curves", "loss", true]] : []),
    ["Curves", "learning_rate", false, true],
    ["Throughput", rate, timed, true], ["Throughput", "mfu", timed, true],
    ["Throughput", "step_time", timed],  // from above 0, since the first steps would hide the others
  ];
  return plots.map(([section, ...plot]) => ({ section, ...plotOf(runs, ...plot) }))
    .filter(({ lines }) => lines.length > 0);
}

/** What stands for a metric of a run. */
const shownName = ({ name, isRate }) => `${name}, ${isRate ? "median" : "at last"}`;

function runFigures({ runs, times }) {
  const own = runs.length > 1 ? [] : runs.flatMap(({ lastStep, elapsed, metrics }) => [
    ["last step", lastStep], elapsed && ["time from its start", elapsed],
    ...metrics.map((metric) => metric.count > 0 && [shownName(metric), metric.shown ? metric.shown[1] : "not known"])]);
  const all = [...own, ...(times.length === 1 ? times[0].figures : [])].filter(Boolean);
  return all.length > 0 && figures(all);
}

/** A row for each metric, and a column for each run; of two runs, also how the second differs. */
function sideBySide({ runs, changes, times }) {
  const rows = runs[0].metrics.map((metric) =>
    [metric, ...runs.map(({ metrics }) => metrics.find(({ name, count }) => name === metric.name && count > 0))]);
  const cellOf = (metric) => (!metric ? "-" : metric.shown ? always(metric.shown) : "not known");
  const changeOf = ([{ name }]) => (changes[name] ? always(changes[name]) : "-");
  const columns = [["figure", ([metric]) => shownName(metric)],
    ...runs.map(({ file }, i) => [file, (row) => cellOf(row[i + 1])]),
    ...(runs.length === 2 ? [["change", changeOf]] : [])];
  const factOf = (time, name) => (time.facts.find(([own]) => own === name) || [])[1];
  return html`<h2>Side by side</h2>${table("the runs side by side", rows, columns)}${times.length > 1 && html`<details
class=more><summary>Commands, layouts and hosts</summary>${table("what ran, side by side", times[0].facts, [["fact", 0],
    ...times.map((time, run) => [runs[run].file, ([name]) => factOf(time, name), "word flow"])])}</details>`}`;
}

/** The times by kind of step [kind, steps, predicted, measured, ratio, share]. `file` names one of several runs. */
function timesSection({ about, hardware, rows, total }, file) {
  const has = total[2] !== null;
  const meter = (figure, over, colour) => html`<div class=meter aria-hidden=true><i style="width:${
    percent(figure && over > 0 ? figure[0] / over : 0)};background:var(--${colour})"></i></div>`;
  const longestOf = (list) => most(list.flatMap((row) => [row[2] ? row[2][0] : 0, row[3][0]]));
  const longest = longestOf(rows);
  const over = (row) => (row === total ? longestOf([total]) : longest);
  const meters = (row) => [has && meter(row[2], over(row), "r1"), meter(row[3], over(row), "r0")];
  const title = has ? "Predicted and measured" : "Time by kind of step";
  return html`<h2>${title}</h2>${paragraph([file && `${file}: `, about,
    " and over all devices; for a collective, the time that kernels do not hide.",
    has ? ` Predicted for the hardware profile ${hardware}.`
      : " A run with --report and --hardware has predicted times, too."])}${
    paragraph([has && html`<span class=key><i style="background:var(--r1)"></i>predicted (above)</span> `,
      html`<span class=key><i style="background:var(--r0)"></i>measured</span>`], "keys")}${
    table("times by kind of step", rows, [["kind", 0], ["time", meters, "word"], ["steps", 1],
      ...(has ? [["predicted", (row) => row[2] && always(row[2])]] : []), ["measured", (row) => always(row[3])],
      ...(has ? [["measured / predicted", 4]] : []), ["share", (row) => always(row[5])]], { foot: total })}`;
}

function allFigures({ runs }) {
  const column = (head, name) => [head, (metric) => (metric.count > 0 ? always(metric[name]) : "-")];
  const columns = [["metric", "name"], column("first", "first"), column("last", "last"), column("least", "least"),
    column("at step", "leastStep"), column("most", "most"), column("at step", "mostStep"), column("median", "median")];
  return html`<h2>All figures</h2>${runs.map(({ file, extent, metrics }) => [
    runs.length > 1 && html`<h3>${file}</h3>${paragraph(extent)}`, table(`figures of ${file}`, metrics, columns)])}`;
}

function runsPage(data) {
  const { title, runs, times } = data, plots = plotsOf(data);
  const section = (name) => plots.some((plot) => plot.section === name) && html`<h2>${name}</h2><div class=plots>${
    plots.map((plot, i) => plot.section === name && plotFigure(plot, i))}</div>`;
  return html`<main><h1>${title}</h1>${paragraph(data.verdict, "verdict")}${[
    runs.map(({ file, extent, note }) => [paragraph(`${file}: ${extent}`), note && paragraph(`${note}.`, "bad")]),
    runFigures(data), runs.length > 1 && sideBySide(data), times.length === 1 && facts(times[0].facts),
    section("Curves"), section("Throughput"),
    times.map((time, i) => timesSection(time, times.length > 1 && runs[i].file)), allFigures(data)]}</main>`;
}
