// Drawings of a layout: its mesh, a step over time, and tensors cut into shards. Labels stand beside drawings rather
// than in them, so that they stay readable on a phone.

const GAP = html`&#8943;`, shade = (number) => html`style="background:hsl(${(number * 47) % 360} 70% 85%)"`;

/** The indices of a side that are drawn: all, or the first ones, -1 for the gap and the last one. */
const drawnIndices = (size, room) => (size <= room ? range(size) : [...range(room - 2), -1, size - 1]);

/** The devices of a mesh: the last axis runs across, all others down. `rank` is that at a position in row-major order;
 *  a device outside the mesh has no node. */
function meshGrid({ axes, order, perNode }) {
  const sizes = axes.map(([, size]) => size), columns = sizes[sizes.length - 1], devices = product(sizes);
  const rows = devices / columns, rank = (position) => (order.length > 0 ? order[position] : position);
  const nodeAt = (position) => Math.floor(rank(position) / perNode);
  const node = (row, column) =>
    row >= 0 && row < rows && column >= 0 && column < columns ? nodeAt(row * columns + column) : -1;
  return { sizes, rows, columns, devices, rank, node, nodeAt, perNode };
}
/** The place of a row along each axis that runs down: `3`, or `1 · 0`. */
const rowName = ({ sizes }, row) => sizes.slice(0, -1).map((size, i) =>
  Math.floor(row / product(sizes.slice(i + 1, -1))) % size).join(" · ");
/** Whether devices along an axis share a node. */
function joinedDevices({ sizes, devices, nodeAt }, axis) {
  if (devices > 1 << 20 || sizes[axis] === 1) return "";
  const stride = product(sizes.slice(axis + 1));
  let within = false, between = false;
  for (let at = stride; at < devices; ++at) {
    if (Math.floor(at / stride) % sizes[axis] === 0) continue;
    if (nodeAt(at) === nodeAt(at - stride)) within = true;
    else between = true;
  }
  return !between ? "inside a node" : within ? "inside nodes and between them" : "between nodes";
}
/** A device with its rank. A node is outlined where the next device belongs to another one. */
function deviceCell({ rank, node, columns, perNode }, row, column) {
  if (row < 0 || column < 0) return html`<td class=gap>${GAP}</td>`;
  const text = rank(row * columns + column), own = node(row, column);
  if (!perNode) return html`<td class=device>${text}</td>`;
  const sides = [["top", -1, 0], ["right", 0, 1], ["low", 1, 0], ["left", 0, -1]]
    .filter(([, down, across]) => node(row + down, column + across) !== own).map(([name]) => ` ${name}`);
  return html`<td class="device${sides}" ${shade(own)}>${text}</td>`;
}
function nodesText({ devices, perNode }) {
  const nodes = Math.ceil(devices / perNode);
  return html`Each cell is a device with its rank. ${perNode
    ? `Lines and colours mark ${nodes === 1 ? "the node" : "nodes"}: ${counted(nodes, "node", "nodes")} of ${
      grouped(Math.min(perNode, devices))} consecutive ranks.`
    : html`The hardware does not say which devices share a node; <code>--ranks-per-node N</code> does.`}`;
}
function meshDrawing(mesh) {
  const { axes, rules, limitedRules, perNode } = mesh, grid = meshGrid(mesh);
  if (axes.length === 0) return paragraph("One device, without a mesh.");
  const down = axes.slice(0, -1).map(([name]) => name).join("+"), columns = drawnIndices(grid.columns, 12);
  const heads = columns.map((column) => (column < 0 ? html`<td>${GAP}</td>` : html`<th scope=col>${column}</th>`));
  const rowHead = (row) => (row < 0 ? html`<td>&#8942;</td>` : html`<th scope=row>${rowName(grid, row)}</th>`);
  const rows = drawnIndices(grid.rows, 8).map((row) =>
    html`<tr>${down && rowHead(row)}${columns.map((column) => deviceCell(grid, row, column))}</tr>\n`);
  const splits = [...Object.entries(rules), ...limitedRules];  // those of a part of the model too
  const dimsOf = ([axis]) => [...new Set(splits.filter(([, over]) => over.includes(axis)).map(([dim]) => dim))];
  return html`${paragraph(nodesText(grid))}<div class=pair><div>${box("ranks of the mesh",
    html`<table class=mesh><caption>${down && `${down} down, `}${axes[axes.length - 1][0]} across</caption><tr>${
      down && html`<td></td>`}${heads}</tr>\n${rows}</table>`)}</div><div>${table("axes of the mesh", axes, [
    ["axis", 0],
    ["devices", ([, size]) => whole(size)],
    ["splits", (axis) => namesText(dimsOf(axis), 6), "word"],
    ...(perNode ? [["joins devices", (axis) => joinedDevices(grid, axes.indexOf(axis)), "word"]] : []),
  ])}</div></div>`;
}

const COLUMNS = 1000;  // the width of a drawing of a step

/** Lines at the marks [share, text] of an axis of time, and their labels, of which a late one ends at its mark. */
const tickLines = (ticks, height) => ticks.length > 1 && html`<path class=tick d="${
  ticks.slice(1).map(([share]) => `M${(COLUMNS * share).toFixed(1)} 0v${height}`)}"/>`;
const tickLabels = (ticks) => html`<div class=axis>${ticks.map(([share, text]) =>
  html`<span${share > 0.92 && html` class=last`} style="left:${percent(share)}">${text}</span>`)}</div>`;

/** Pieces [begin, width, phase, what runs] of a lane: narrow ones are a path for each colour, wide ones have titles. */
function lane([axes, busy, share, pieces], ticks) {
  const label = `${axes ? `communication over ${axes}` : "kernels"}, busy for ${busy} (${share})`;
  const narrow = Object.keys(COLOURS).map((phase) => [COLOURS[phase], pieces
    .filter(([, , own, title]) => own === phase && !title)
    .map(([begin, width]) => `M${begin} 0h${width}v10h-${width}z`)]);
  return html`<p class=scale>${label}</p><svg class=lane viewBox="0 0 ${COLUMNS} 10" preserveAspectRatio=none role=img
aria-label="${label}">${narrow.map(([colour, path]) => path.length > 0 && html`<path class=c${colour} d="${path}"/>`)}${
    pieces.map(([begin, width, phase, title]) => title && html`<rect class=c${COLOURS[phase]} x="${begin}" width="${
      width}" height="10"><title>${title}</title></rect>`)}${tickLines(ticks, 10)}</svg>`;
}

/** The bytes of each column from those at which they change: [[0, 5], [2, 7]] is 5, 5, 7. */
function columnsOf(changes, size) {
  const bytes = new Array(size);
  for (const [from, number] of changes) bytes.fill(number, from);
  return bytes;
}
const heightOf = (bytes, highest) => +(100 - (100 * bytes) / highest).toPrecision(3);
/** The area from the axis up to the tops, which the areas of the layers below will cover. */
const area = (colour, tops, highest) => html`<path class=c${colour} d="M0 100${tops.map((top, i) =>
  top !== tops[i - 1] && `${i > 0 ? `H${i}` : ""}V${heightOf(top, highest)}`)}H${tops.length}V100z"/>`;

/** The memory of each column, stacked by kind, and what a device has as a line unless that is far above. */
function memoryChart({ columns, layers, needed, excess, peakStep }, limit, ticks) {
  const isNear = limit && limit[0] <= 4 * needed[0];
  const highest = isNear ? Math.max(needed[0], 1.02 * limit[0]) : needed[0];
  let tops = new Array(columns).fill(0);
  const areas = [], keys = [];
  for (const [name, kind, changes] of layers) {
    const colour = typeof kind === "number" ? groupColour(kind) : COLOURS[kind], bytes = columnsOf(changes, columns);
    tops = tops.map((top, i) => top + bytes[i]);
    areas.unshift(area(colour, tops, highest));
    if (most(bytes) > 0) keys.push(key(colour, name));
  }
  const label = [`memory, ${needed[1]} at the peak, most in step ${peakStep}`,
    limit && (excess ? `, ${excess} more than the ${limit[1]} of a device` : `, of the ${limit[1]} of a device`),
    isNear && ", which the red line marks"];
  const line = isNear && html`d="M0 ${heightOf(limit[0], highest)}H${columns}"/>`;
  return html`<p class=keys>${keys}</p><p class="scale${excess && " bad"}">${label}</p><svg class=chart
viewBox="0 0 ${columns} 100" preserveAspectRatio=none role=img aria-label="${label}">${areas}${
    line && html`<path class="limit halo" ${line}<path class=limit ${line}`}${
    ticks.length > 1 && html`<g transform="scale(${columns / COLUMNS})">${tickLines(ticks, 200)}</g>`}</svg>`;
}

/** The kernels and collectives of a step, and the memory of the device meanwhile, over one axis of time; without times,
 *  the memory over the steps. */
function stepDrawing(data, step, limit) {
  const { lanes, isOverTime, columns, lastStep } = data, total = step ? step[0] : 0;
  const ticks = total > 0 ? ticksOf(0, total, 5, TIMES).map(([at, text]) => [at / total, text]) : [];
  const labels = total > 0 && tickLabels(ticks);
  if (!columns && lanes.length === 0) return false;
  const keys = ["forward", "backward", "update"].map((phase) => key(COLOURS[phase], phase));
  return [lanes.length > 0 && paragraph(keys, "keys"),
    lanes.map((each) => lane(each, ticks)), (!columns || !isOverTime) && labels,
    columns && memoryChart(data, limit, isOverTime ? ticks : []),
    columns && (isOverTime ? labels : html`<p class=ends><span>step 0</span><span>step ${lastStep}</span></p>`)];
}

const intervalText = ([begin, end]) => end <= begin ? "none" : end === begin + 1 ? `${begin}` : `${begin}–${end - 1}`;
const placeText = (intervals) => (intervals ? intervals.map(intervalText).join(" · ") : GAP);

/** A tensor as a matrix cut into its shards, with the ranks that hold them (Mesh-TensorFlow, appendix A). */
function tensorFigure({ names, dims, partial, shards, holders, rows, ...sides }) {
  const { down: [down, rowPlaces], across: [across, columnPlaces] } = sides;
  const splits = [[down, "down"], [across, "across"]].flatMap(([split, way]) =>
    split.map(([dim, axes]) => html`, <b>${dim}</b> over ${axes} (${way})`));
  const ranksText = ([...ranks]) => holders <= 5 ? ranks.join(" ")
    : html`${ranks.splice(0, ranks.length - 1).join(" ")} &#8230; ${ranks} <small>(${grouped(holders)} ranks)</small>`;
  const heads = across.length > 0 && html`<tr>${down.length > 0 && html`<td></td>`}${
    columnPlaces.map((place) => html`<th scope=col>${placeText(place)}</th>`)}</tr>`;
  const rowHead = (i) => down.length > 0 && html`<th scope=row>${placeText(rowPlaces[i])}</th>`;
  const lines = rows.map((row, i) => html`<tr>${rowHead(i)}${
    row.map(([number, ranks]) => ranks.length > 0 ? html`<td ${shade(number)}>${ranksText(ranks)}</td>`
      : html`<td class=gap>${GAP}</td>`)}</tr>`);
  const parts = Object.entries(partial).map(([axis, kind]) =>
    `; unreduced over ${axis}: each rank holds a part of its ${kind}`);
  const sizes = Object.entries(dims).map(([name, size]) => `${name} ${grouped(size)}`).join(" × ");
  return html`<figure><h4>${namesText(names, 6)}</h4><p>${sizes || "a scalar"}${parts}</p><p class=scale>${
    shards > 1 ? `${grouped(shards)} shards` : "not split"}${splits}</p>${
    box(`shards of ${names[0]}`, html`<table class=matrix>${heads}${lines}</table>`)}</figure>`;
}
const tensorDrawings = ({ all, drawn }) => drawn.length > 0 && [
  all > drawn.length && html`<p>The ${drawn.length} largest of ${all} different ones.</p>`,
  html`<div class=tensors>${drawn.map(tensorFigure)}</div>`];
