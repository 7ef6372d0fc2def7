// The page of `mtfc cost-report`: layouts side by side, and the best of them in detail.

/** `mesh / rules`, which may break after a comma. */
const layoutName = ({ name }) => joined(name.split(","), html`,<wbr>`);
const onDevices = ({ devices: [count, text] }) => (count === 1 ? "one device" : `${text} devices`);
/** What bars of time show: a step, or without times its arithmetic. */
const workOf = (layout) => layout.step || layout.einsum;
const counted = (count, one, many) => `${grouped(count)} ${count === 1 ? one : many}`;

/** What a layout comes to: whether it fits, and how long a step takes. */
function verdict(layout) {
  const { step, einsum, sent, memory: [, memory], limit, excess } = layout;
  const costs = step
    ? `A step takes ${step[1]} on ${onDevices(layout)} of ${layout.hardware}, ${
      layout.waiting} of it communication that kernels do not hide`
    : `A step computes ${einsum[1]} in einsums and sends ${sent[1]} on each of ${onDevices(layout)}`;
  if (excess)
    return paragraph(html`<strong>Does not fit:</strong> a device needs ${memory} of memory, ${
      excess} more than it has. ${costs}.`, "verdict bad");
  const needs = limit ? `; it fits, with ${memory} of a device's ${limit[1]}` : `, and needs ${memory} of memory`;
  return paragraph(`${costs}${needs}.`, "verdict");
}

/** `None of the 3 layouts fits`, and what the smallest, which comes first, lacks. */
function noneFits(layouts) {
  const possible = layouts.filter((layout) => !layout.reason).length, [smallest] = layouts;
  if (possible === 0) return "None of the layouts is possible";
  const isOne = possible === 1, limited = possible < layouts.length && ` that ${isOne ? "is" : "are"} possible`;
  const which = isOne ? "The only layout" : possible === 2 ? "Neither of the 2 layouts"
    : `None of the ${grouped(possible)} layouts`;
  return [which, limited, isOne ? " does not fit: it" : ` fits: number ${smallest.number}, the smallest,`,
    ` needs ${smallest.memory[1]} of memory, ${smallest.excess} more than a device has`];
}

/** Which layout is the best, and how many do not fit or are not possible. */
function comparisonVerdict({ layouts, hasBest }) {
  const impossible = layouts.filter((layout) => layout.reason).length, [best] = layouts;
  const tooLarge = hasBest && layouts.filter((layout) => layout.excess).length;
  const counts = [tooLarge > 0 && `; ${counted(tooLarge, "does", "do")} not fit`,
    impossible > 0 && `; ${counted(impossible, "is", "are")} not possible`];
  if (!hasBest) return paragraph([noneFits(layouts), counts, "."], "verdict bad");
  return paragraph(html`Of ${grouped(layouts.length)} layouts, number ${best.number} is the best: <strong>${
    layoutName(best)}</strong>, ${best.step ? best.step[1] : `${best.einsum[1]} in einsums`} a step and ${
    best.memory[1]} of memory on each of ${onDevices(best)}${counts}.`, "verdict");
}

/** Five large figures, and folded the rows of the table in the terminal. */
const layoutFigures = ({ step, hardware, tokens, memory, limit, excess, sent, efficiency, ...layout }) => figures([
  step && [`a step, on ${hardware}`, step[1]],
  tokens && ["tokens per second", tokens],
  [limit ? `memory at the peak; a device has ${limit[1]}` : "memory at the peak, per device", memory[1], excess],
  ["sent per device", sent[1]],
  efficiency && ["efficiency (MFU)", efficiency],
  ["einsum per device", layout.einsum[1]],
].filter(Boolean).slice(0, 5), facts(layout.details.figures));

function comparisonTable({ layouts, hasBest }) {
  const timed = layouts.some((layout) => layout.step);
  const work = (layout) => {
    const [number] = workOf(layout), computes = layout.step ? Math.min(layout.computes, number) : number;
    return [[[computes, COLOURS.kernels], [number - computes, COLOURS.communication]]];
  };
  const name = (layout) => {
    const text = html`${layout.number} ${layoutName(layout)}`;
    return layout.details ? html`<a href="#details-${layout.number}">${text}</a>` : text;
  };
  const memory = ({ memory: [number, text], excess }) =>
    [number, excess ? html`<span class=bad>${text}, does not fit: ${excess} too much</span>` : text];
  const training = [["for all tokens", "duration"], ["price", "price"]];
  return [paragraph(`${hasBest ? "The best" : "The layout that needs least memory"
  } comes first. Numbers say in which order the layouts were given.`),
  timed && paragraph([key(COLOURS.kernels, "kernels"),
    key(COLOURS.communication, "communication that they do not hide, and bytes sent")], "keys"),
  table("layouts", layouts, [
    ["layout", name, "word"],
    ["devices", "devices"],
    [timed ? "step" : "einsum per device", workOf, "", work],
    ["sent per device", "sent", "", ({ sent }) => [[[sent[0], COLOURS.communication]]]],
    ["memory per device", memory, "",
      (layout) => [[[layout.memory[0], layout.excess ? COLOURS.beyond : COLOURS.memory]]]],
    ...training.filter(([, figure]) => layouts.some((layout) => layout[figure])),
  ], {
    kindOf: (layout) => hasBest && layout === layouts[0] && "best",
    instead: ({ reason }) => reason && `not possible: ${reason}`,
  })];
}

/** The range of an axis, a little wider than the numbers. */
function axisRange(numbers) {
  const margin = Math.max(0.06 * (most(numbers) - least(numbers)), 0.02 * most(numbers));
  return [Math.max(0, least(numbers) - margin), most(numbers) + margin];
}
/** Layouts as points, by their numbers: the shorter a step, the further left, and the less memory, the further down. */
function comparisonPoints({ layouts, hasBest }) {
  const shown = layouts.filter((layout) => layout.step).slice(0, 200), bytes = shown.map(({ memory }) => memory[0]);
  if (shown.length < 3 || most(shown.map(({ step }) => step[0])) <= 0 || most(bytes) <= 0) return false;
  const { limit: device, isDecimal } = shown[0], limit = device && device[0] <= 4 * most(bytes) && device;
  const time = axisRange(shown.map(({ step }) => step[0])), memory = axisRange(limit ? [...bytes, limit[0]] : bytes);
  const place = ([from, to], number) => percent((number - from) / (to - from));
  const marks = (ticks, axis, side, name) => ticks.map(([number, text]) => {
    const at = html`style="${side}:${place(axis, number)}"`;
    return html`<i class=${name} ${at}></i><small class=${name} ${at}>${text}</small>`;
  });
  const point = ({ number, isFirst, excess, step, memory: [height] }) => {
    const isNumbered = isFirst || shown.length <= 30, form = isFirst ? "front" : isNumbered ? "number" : "dot";
    return html`<span class="${form}${excess && " over"}" style="left:${place(time, step[0])};bottom:${
      place(memory, height)}">${isNumbered && number}</span>`;
  };
  const first = shown.filter(({ isFirst }) => isFirst), rest = shown.filter(({ isFirst }) => !isFirst);
  const allFit = !shown.some(({ excess }) => excess);
  const line = limit && html`<i class=limit style="bottom:${place(memory, limit[0])}"></i>`;
  const heights = isDecimal ? ticksOf(...memory, 4, DECIMAL_BYTES) : ticksOf(...memory, 4, BINARY_BYTES, 2);
  return html`${paragraph(["Time of a step (to the right) and memory of a device (upwards). ",
    "The numbers are those of the list above.", limit && ` The red line marks the ${limit[1]} of a device.`,
    !allFit && " What does not fit is red.", ` No other layout${!allFit && hasBest ? " that fits" : ""}`,
    " has as short a step, as little memory and as few devices as these, which are filled: ",
    `${first.map(({ number }) => number).join(", ")}.`])}<div class=cloud role=img
aria-label="the layouts as points, by time and memory${limit && ", and the memory of a device as a line"}">${[
    marks(ticksOf(...time, 4, TIMES), time, "left", "x"), marks(heights, memory, "bottom", "y"), line,
    rest.map(point), first.map(point)]}</div>`;
}

/** Times and bytes of the steps that have something in common, [name, runs, time, flops, sent]. */
function totalsTable(label, head, rows) {
  const timed = rows.some(([, , time]) => time[0] > 0);
  const sorted = [...rows].sort((a, b) => b[2][0] - a[2][0] || b[4][0] - a[4][0] || b[3][0] - a[3][0]);
  return table(label, sorted, [
    [head, 0],
    ["runs", 1],
    ...(timed ? [["time", 2, "", ([, , [time], , [sent]]) =>
      [[[time, sent > 0 ? COLOURS.communication : COLOURS.kernels]]]]] : []),
    ["FLOP", 3],
    ["sent", 4, "", (row) => [[[row[4][0], COLOURS.communication]]]],
  ], { sortedBy: timed ? 2 : undefined });
}
/** For each block two bars: its kernels and collectives, and the least time at peak rates. */
const blocksTable = (rows) => html`<h4>By layer</h4>${paragraph([key(COLOURS.kernels, "kernels"),
  key(COLOURS.communication, "collectives, and bytes sent"), key(COLOURS.peak, "at peak rates")], "keys")}${
  paragraph("Blocks that are repeated are added up. Collectives may run beside kernels.")}${
  table("time and bytes by layer", rows, [
    ["block", 0],
    ["time", 1, "", ([, , kernels, collectives, peak]) =>
      [[[kernels[0], COLOURS.kernels], [collectives[0], COLOURS.communication]], [[peak[0], COLOURS.peak]]]],
    ["kernels", 2],
    ["collectives", 3],
    ["at peak", 4],
    ["share", (row) => always(row[5])],
    ["sent", 6, "", (row) => [[[row[6][0], COLOURS.communication]]]],
  ], { sortedBy: 1 })}`;
const totals = ({ kinds, axes, blocks }) => html`<div class=pair><div><h4>By kind of step</h4>${
  totalsTable("time and bytes by kind of step", "kind", kinds)}</div>${
  axes.length > 0 && html`<div><h4>By mesh axis</h4>${totalsTable("time and bytes by mesh axis", "over", axes)}</div>`
}</div>${blocks.length > 0 && blocksTable(blocks)}`;

const source = (text) => text && html` <small>${text}</small>`;
const collectiveId = (number, [step]) => `collective-${number}-${step}`;

/** Rows [named, kind, phase, runs, time, flops, sent, axes, memory, step]. */
function operations({ operations: { all, rows }, collectives: listed }, number) {
  const ids = new Map(listed.rows.flatMap(([, , , steps]) => steps.map((step) => [step, collectiveId(number, steps)])));
  const kind = (row) => (ids.has(row[9]) ? html`<a href="#${ids.get(row[9])}">${row[1]}</a>` : row[1]);
  const share = shareText(rows.length, all, "costliest");
  return [paragraph(`${share}. Memory is the most that a device holds during the step.`),
    table("operations", rows, [
      ["result", ([name]) => [folded(name), source(name[2])]],
      ["kind", kind, "word"],
      ["phase", 2, "word"],
      ["runs", 3],
      ["time", 4],
      ["FLOP", 5],
      ["sent", 6],
      ["over", 7, "word"],
      ["memory", 8],
      ["step", (row) => whole(row[9])],
    ], { sortedBy: rows.some((row) => row[4][0] > 0) ? 4 : undefined })];
}
/** Rows [named, sent, runs, steps, kind, axes, from, to, makers, readers]. */
function collectives({ all, rows }, number) {
  const places = (list) => joined(list.map(([kind, [name, , place]]) => [`${kind} ${name}`, source(place)]), ", ");
  return [paragraph(html`${shareText(rows.length, all, "that send most")
  }. <code>mtfc explain MODEL STEP</code>, with the same options, says what would remove one.`),
  table("collectives", rows, [
    ["tensor", ([name]) => folded(name)],
    ["sent", 1],
    ["runs", 2],
    ["step", ([, , , steps]) => whole(steps[0])],
    ["collective", (row) => html`${row[4]}<br>over ${row[5]}`, "word"],
    ["from, to", (row) => html`${row[6]}<br>${row[7]}`, "word flow"],
    ["given by", (row) => places(row[8]), "word flow"],
    ["needed by", (row) => places(row[9]), "word flow"],
  ], { sortedBy: 1, idOf: ([, , , steps]) => collectiveId(number, steps) })];
}

/** All parts of the memory at the peak, to the byte. */
function memoryParts(memory) {
  const groups = Object.entries(memory.groups || {}), other = groups.length > 0 ? "other " : "";
  const rest = (part) => memory[part] - sum(groups.map(([, group]) => group[part]));
  const rows = [
    ...groups.flatMap(([name, group], i) => [[`variables of ${name}`, group.variables, groupColour(i)],
      [`optimizer state of ${name}`, group.optimizer_state, groupColour(i)]]),
    [`${other}variables`, rest("variables"), COLOURS.variables],
    [`${other}optimizer state`, rest("optimizer_state"), COLOURS.variables],
    ["caches", memory.caches, COLOURS.variables],
    ["copies of variables", memory.variable_copies, COLOURS.variables],
    ["inputs", memory.inputs, COLOURS.inputs],
    ["activations", memory.activations_at_peak, COLOURS.activations],
    ["gradients", memory.gradients, COLOURS.gradients],
    ["workspace", memory.workspace, COLOURS.workspace],
    ["alignment and gaps", memory.alignment_and_gaps, COLOURS.memory],
    ["together", memory.peak_bytes_per_device, COLOURS.memory],
  ];
  return table("memory at the peak", rows, [["part", 0, "word"], ["bytes", ([, bytes]) => whole(bytes)],
    ["share", ([, bytes, colour]) => bar([[bytes, colour]], memory.peak_bytes_per_device), "word"]]);
}
/** Rows [named, kind, tensors, bytes, first step, last step]. */
const alive = ({ all, rows }, peakStep) => [
  paragraph(`${shareText(rows.length, all, "largest")}${peakStep && `, in ${peakStep}`}.`),
  table("tensors alive at the peak", rows, [["tensor", ([name]) => folded(name)], ["kind", 1, "word"], ["tensors", 2],
    ["bytes", 3], ["from step", (row) => whole(row[4])], ["to step", (row) => whole(row[5])]], { sortedBy: 3 })];

/** The sections of a layout. Paper has the first three layouts: most about the best one, and totals of the others. */
function layoutSection(layout, place, isOnly) {
  const { number, step, limit, details } = layout, peakStep = details.memory.peak_step;
  const inner = [
    ["mesh", "Mesh", meshDrawing(details), true],
    ["totals", "Totals", totals(details.totals), true],
    ["step", step ? "A step over time" : "Memory over the steps", stepDrawing(details.step, step, limit), true],
    ["operations", "Operations", operations(details, number), true],
    ["collectives", "Collectives", details.collectives.rows.length > 0 && collectives(details.collectives, number)],
    ["memory", "Memory at the peak", memoryParts(details.memory), true],
    ["alive", "Tensors alive at the peak", details.alive.rows.length > 0 && alive(details.alive, peakStep)],
    ["tensors", "Tensors and the ranks that hold them", tensorDrawings(details.tensors)],
  ].filter(([, , content]) => content);
  return {
    id: `details-${number}`,
    title: isOnly ? layoutName(layout) : html`${number} ${layoutName(layout)}`,
    content: [!isOnly && verdict(layout), layoutFigures(layout), details.warnings.map((text) => paragraph(text))],
    isOnPaper: place < 3,
    inner: inner.map(([name, title, content, isOnPaper]) =>
      ({ id: `${name}-${number}`, title, content, isOnPaper: isOnPaper && (place === 0 || name === "totals") })),
  };
}

function costsPage(data) {
  const { layouts, model, entry, origin } = data, isOnly = layouts.length === 1;
  const detailed = layouts.filter(({ details }) => details), possible = layouts.filter(({ reason }) => !reason);
  const points = comparisonPoints(data);
  const sections = [
    ...(isOnly ? [] : [{ id: "comparison", title: "Layouts", content: comparisonTable(data), isOnPaper: true,
      inner: points ? [{ id: "points", title: "Time and memory", content: points, isOnPaper: true }] : [] }]),
    ...detailed.map((layout, place) => layoutSection(layout, place, isOnly)),
    { id: "origin", title: "Where the figures come from", isOnPaper: true, inner: [],
      content: [facts(origin.facts), origin.hardware && [paragraph("The figures of one device of this hardware:"),
        facts(origin.hardware)]] },
  ];
  const link = ({ id, title }) => html`<a href="#${id}">${title}</a>`;
  const contents = sections.map((section) => html`<li>${link(section)}${section.inner.length > 0 && html`<ul>${
    section.inner.map((part) => html`<li>${link(part)}</li>`)}</ul>`}</li>\n`);
  const part = ({ id, title, content, isOnPaper, inner = [] }, level) => html`<section id="${id}"${
    !isOnPaper && html` class=screen`}><h${level}>${title}</h${level}>\n${content}${
    inner.map((each) => part(each, level + 1))}</section>\n`;
  return html`<header><h1>${model}</h1>${paragraph(`${entry}, predicted by mtfc${possible.length > detailed.length
    ? `. The first ${detailed.length} of ${possible.length} layouts are shown in detail` : ""}`)}${
    isOnly ? verdict(layouts[0]) : comparisonVerdict(data)}</header>
<nav aria-label=Contents><ul>
${contents}</ul></nav>
<main>
<p class="paper dim">On paper, tables end after their first rows, and long tables, drawings of tensors and most about
other layouts than the first are left out. The page on a screen has them all.</p>
${sections.map((section) => part(section, 2))}</main>`;
}
