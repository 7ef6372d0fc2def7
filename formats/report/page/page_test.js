// Tests of the scripts of pages, which html_page_test.cpp runs behind them in an engine without a browser.

let failed = 0;
function check(isTrue, what) {
  if (isTrue) return;
  ++failed;
  console.log(`FAILED: ${what}`);
}
// The markup of what a browser shows.
const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escaped = (text) => text.replace(/[&<>"]/g, (letter) => ESCAPES[letter]);
const textOf = (markup) => (typeof markup === "string" ? markup : filledIn(markupOf(markup), escaped));
function has(markup, part) {
  const text = textOf(markup);
  check(text.includes(part), `${part}\n  is missing in\n  ${text.slice(0, 3000)}`);
}
const lacks = (markup, part) => check(!textOf(markup).includes(part), `there is ${part}`);
const same = (found, expected) =>
  check(JSON.stringify(found) === JSON.stringify(expected),
    `${JSON.stringify(found)} is not ${JSON.stringify(expected)}`);
const count = (markup, part) => textOf(markup).split(part).length - 1;

// Texts are not in the markup, which has their numbers, and what is missing is nothing.
const mixture = html`<b title="${'"<&>'}">${["<i>", html`<i>`, "\uE0000\uE001"]}${undefined}${null}${false}${0}</b>`;
same(mixture.text, '<b title="\uE0000\uE001">\uE0001\uE001<i>\uE0002\uE0010</b>');
same(textOf(mixture), '<b title="&quot;&lt;&amp;&gt;">&lt;i&gt;<i>\uE0000\uE0010</b>');

// Axes have round numbers, in one unit.
same(roundNumbers(0, 10, 5), [0, 2, 4, 6, 8, 10]);
same(roundNumbers(1, 100, 5), [20, 40, 60, 80, 100]);
same(roundNumbers(0, 4, 5), [0, 1, 2, 3, 4]);
same(roundNumbers(-0.11, 0.12, 5).map((number) => +number.toPrecision(6)), [-0.1, -0.05, 0, 0.05, 0.1]);
check(!roundNumbers(-0.11, 0.12, 5).some((number) => Object.is(number, -0)), "no number is -0");
same(roundNumbers(0.4, 11.6, 4), [5, 10]);
same(roundNumbers(921, 4199, 4, 2), [1024, 2048, 3072, 4096]);
same(powersWithin(0.02, 3000), [1, 100]);
same(powersWithin(0.9, 60), [1, 2, 5, 10, 20, 50]);
same(powersWithin(3e-5, 3e-3), [5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3]);
same(ticksOf(0, 8, 5, TIMES).map(([, text]) => text), ["0 s", "2 s", "4 s", "6 s", "8 s"]);
same(ticksOf(0, 0.0667, 5, TIMES).map(([, text]) => text), ["0 ms", "20 ms", "40 ms", "60 ms"]);
same(ticksOf(100, 3500, 5, TIMES).map(([, text]) => text), ["20 min", "40 min"]);
same(ticksOf(1e6, 9e6, 4, BINARY_BYTES, 2).map(([, text]) => text), ["2 MiB", "4 MiB", "6 MiB", "8 MiB"]);
for (const value of [0, 5, -1e300, 1e-300, 1e17])
  for (const number of roundNumbers(value - Math.abs(value) / 20 - 1e-320, value + Math.abs(value) / 20 + 1e-320, 5))
    check(Number.isFinite(number), `a round number near ${value}`);
same([0, 999, 1000, 1234567].map(grouped), ["0", "999", "1,000", "1,234,567"]);

// A table sorts by numbers, leaves out zeros, and can be filtered if it is long.
const small = table("a<b", [["x<y", [2, "2 s"], [0, "0 B"]], ["z", [4, "4 s"], [3, "3 B"]]],
  [["name", 0], ["time", 1, "", (row) => [[[row[1][0], COLOURS.kernels]]]], ["bytes", 2]], { sortedBy: 1 });
has(small, 'aria-label="a&lt;b"');
has(small, '<th scope=col aria-sort=descending><button type=button>time</button></th>');
has(small, '<tr><th scope=row>x&lt;y</th><td data-v="2">2 s<div class=bar><i class=c1 style="width:50.0%"></i></div>' +
  '</td><td data-v="0"></td></tr>');
lacks(small, "<input");
has(table("rows", range(9).map((i) => [i]), [["i", 0]]), "<label>Filter rows <input type=search></label>");
same(patternsOf("layer_3 ffn").map((pattern) => pattern.test("layer_{0..5}/FFN")), [true, true]);
same(patternsOf("(a").map((pattern) => pattern.test("(A")), [true]);
// Rows are in order by the numbers of cells, else by their texts, in which digits are numbers.
const rowOf = (text, number) => ({ textContent: text, cells: [{ dataset: { v: number }, textContent: text }] });
const inOrder = (...list) => list.map(([...cell]) => valueOf(rowOf(...cell), 0)).sort(compared);
same(inOrder(["b", "10"], ["a", "9"], ["c", "-1"]), [-1, 9, 10]);
same(inOrder(["step 10"], ["step 9"], ["a"]), ["a", "step 9", "step 10"]);
// A filter hides rows and counts the others.
const listed = ["layer_{0..5}/q", "layer_{0..5}/k", "norm"].map((text) => rowOf(text)), output = {};
const filtered = { querySelector: () => output,
  nextElementSibling: { nextElementSibling: { querySelector: () => ({ rows: listed }) } } };
filterBy({ value: "layer_2 Q", closest: () => filtered });
same([...listed.map(({ hidden }) => hidden), output.textContent], [false, true, true, "1 of 3 rows"]);
filterBy({ value: " ", closest: () => filtered });
same([...listed.map(({ hidden }) => hidden), output.textContent], [false, false, false, ""]);
// Five figures are large.
const seven = textOf(figures(range(7).map((i) => [`figure ${i}`, `${i}`, i === 6]))).split("</dl>");
same(seven.slice(0, 2).map((tiles) => count(tiles, "<dt>")), [5, 2]);
has(seven[1], '<summary>More figures</summary><dl class="figures"><div><dt>figure 5</dt>');
has(seven[1], "<div class=bad><dt>figure 6</dt>");
has(folded(["q_{0,1}", ["0: step 1", "1: step 2"]]),
  "<details><summary>q_{0,1}</summary><div class=members>0: step 1\n1: step 2\n</div></details>");
has(folded(["q", range(40).map((i) => `${i}: step 0`)]), "22: step 0\nand 16 more, up to\n39: step 0\n</div>");

// The mesh.
const mesh = (axes, more) => ({ axes, rules: {}, limitedRules: [], order: [], perNode: 0, ...more });
const plain = mesh([["rows", 2], ["co<ls", 4]], { rules: { batch: ["rows"], heads: ["co<ls"] } });
has(meshDrawing(plain), "<caption>rows down, co&lt;ls across</caption>");
has(meshDrawing(plain), "<th scope=row>1</th><td class=device>4</td><td class=device>5</td>");
has(meshDrawing(plain), '<th scope=row>rows</th><td data-v="2">2</td><td class="word">batch</td></tr>');
has(meshDrawing(plain), "<code>--ranks-per-node N</code>");
has(meshDrawing({ ...plain, limitedRules: [["d<", ["rows", "co<ls"], { in: "a/*" }], ["batch", ["rows"], {}]] }),
  '<td class="word">batch, d&lt;</td>');
const pairs = meshDrawing({ ...plain, perNode: 2 });
has(pairs, "mark nodes: 4 nodes of 2 consecutive ranks");
has(pairs, '<td class="device top low left" style="background:hsl(0 70% 85%)">0</td><td class="device top right ' +
  'low" style="background:hsl(0 70% 85%)">1</td>');
has(pairs, '<td class="word">batch</td><td class="word">between nodes</td>');
has(pairs, '<td class="word">heads</td><td class="word">inside nodes and between them</td>');
has(meshDrawing({ ...plain, perNode: 4 }), '<td class="word">heads</td><td class="word">inside a node</td>');
has(meshDrawing(mesh([])), "One device, without a mesh.");
// A device order moves ranks, and with them the nodes.
has(meshDrawing(mesh([["a", 2], ["b", 2]], { order: [0, 2, 1, 3], perNode: 2 })),
  '>0</td><td class="device top right left" style="background:hsl(47 70% 85%)">2</td>');
const large = meshDrawing(mesh([["pods", 4], ["rows", 32], ["cols", 32]], { perNode: 8 }));
check(textOf(large).length < 12000, "a large mesh is drawn small");
for (const part of ["<caption>pods+rows down, cols across</caption>", "512 nodes of 8 consecutive ranks",
  "<th scope=row>3 · 31</th>", ">4095</td>", "<td>&#8942;</td>"]) has(large, part);

// A step over time.
const layers = [["variables and state of e", 0, [[0, 100]]], ["other variables and state", "variables", [[0, 400]]],
  ["activations", "activations", [[0, 250], [1, 0], [3, 500]]]];
const memory = { columns: 4, layers, needed: [1000, "1.00 kB"], peakStep: 2, lastStep: 3 };
const lanes = [["", "1.00 s", "25 %", [[0, 250, "forward", "einsum a<b, 1 s"], [300, 2, "backward"]]],
  ["rows", "3.00 s", "75 %", []]];
const drawn = stepDrawing({ lanes, isOverTime: true, ...memory }, [8, "8 s"], [500, "500 B"]);
has(drawn, "kernels, busy for 1.00 s (25 %)");
has(drawn, "communication over rows, busy for 3.00 s (75 %)");
has(drawn, '<rect class=c10 x="0" width="250" height="10"><title>einsum a&lt;b, 1 s</title></rect>');
has(drawn, '<path class=c8 d="M300 0h2v10h-2z"/>');
same(count(drawn, "class=axis"), 1);
same(count(drawn, "M250.0 0v10M500.0 0v10M750.0 0v10M1000.0 0v10"), 2);
has(drawn, '<span style="left:0.0%">0 s</span><span style="left:25.0%">2 s</span>');
has(drawn, '<g transform="scale(0.004)"><path class=tick d="M250.0 0v200M500.0');
has(drawn, '<path class=c13 d="M0 100V25H1V50H3V0H4V100z"/>');  // on 500 bytes that last
has(drawn, "variables and state of e");
has(drawn, '<path class=limit d="M0 50H4"/>');
has(drawn, '<p class="scale">memory, 1.00 kB at the peak, most in step 2, of the 500 B of a device, which the red ' +
  'line marks</p>');
has(stepDrawing({ lanes: [], isOverTime: false, ...memory, excess: "501 B" }, undefined, [500, "500 B"]),
  '<p class="scale bad">memory, 1.00 kB at the peak, most in step 2, 501 B more than the 500 B of a device, which ' +
  'the red line marks</p>');
has(stepDrawing({ lanes: [], isOverTime: false, ...memory }), "<span>step 0</span><span>step 3</span>");
lacks(stepDrawing({ lanes: [], isOverTime: false, ...memory }, undefined, [100000, "100 kB"]), "class=limit");
has(stepDrawing({ lanes: [], isOverTime: false, ...memory }, undefined, [2000, "2 kB"]),
  '<path class=limit d="M0 1.96H4"/>');
same(stepDrawing({ lanes: [], isOverTime: false }), false);
check(!textOf(stepDrawing({ lanes, isOverTime: false }, [8, "8 s"])).includes("undefined"),
  "lanes stand without memory");

// Tensors.
const shards = { names: ["w<", "v"], dims: { io: 7, hidden: 64 }, partial: { rows: "sum" }, shards: 16, holders: 2,
  down: [[], [[]]], across: [[["hidden", "cols"]], [[[0, 4]], [[4, 5]], null, [[60, 64]], [[64, 64]]]],
  rows: [[[0, [0, 16]], [1, [1, 17]], [0, []], [15, [15, 31]], [16, [9]]]] };
has(tensorFigure(shards),
  "<h4>w&lt;, v</h4><p>io 7 × hidden 64; unreduced over rows: each rank holds a part of its sum</p>");
has(tensorFigure(shards), "16 shards, <b>hidden</b> over cols (across)");
has(tensorFigure(shards), "<tr><th scope=col>0–3</th><th scope=col>4</th><th scope=col>&#8943;</th><th " +
  "scope=col>60–63</th><th scope=col>none</th></tr>");
has(tensorFigure(shards), '<td style="background:hsl(47 70% 85%)">1 17</td><td class=gap>&#8943;</td>');
has(tensorFigure({ ...shards, holders: 16, rows: [[[0, [0, 1, 2, 15]]]] }),
  "0 1 2 &#8230; 15 <small>(16 ranks)</small>");

// Layouts.
const details = {
  figures: [["devices", "8"], ["  hours<", "2"]], warnings: ["take < care"], ...plain,
  totals: { kinds: [["einsum", [2, "2"], [3, "3.00 s"], [12, "12"], [0, "0 B"]],
    ["all_gather", [2, "2"], [6, "6.00 s"], [0, "0"], [8, "8 B"]]], axes: [],
  blocks: [["ffn", [4, "4.00 s"], [3, "3.00 s"], [1, "1.00 s"], [2, "2.00 s"], [0.5, "50 %"], [8, "8 B"]]] },
  step: { lanes, isOverTime: true, ...memory },
  operations: { all: 5, rows: [[["s", [], "/ops/0"], "all_reduce", "backward", [1, "1"], [3, "3.00 s"], [0, "0"],
    [12, "12 B"], "rows", [9, "9 B"], 7]] },
  collectives: { all: 1, rows: [[["s", [], ""], [12, "12 B"], [1, "1"], [4, 7], "all_reduce", "rows",
    "[io, sum over rows]", "[io]",
    [["einsum", ["s", [], "/ops/0"]]], [["relu", ["y<", [], "/ops/1"]]]]] },
  memory: { peak_bytes_per_device: 1000, variables: 500, optimizer_state: 60, caches: 0, variable_copies: 0, inputs: 1,
    activations_at_peak: 300, gradients: 100, workspace: 30, alignment_and_gaps: 9, peak_step: "s",
    groups: { "e<": { variables: 100, optimizer_state: 20 } } },
  alive: { all: 1, rows: [[["w", [], ""], "variable", [1, "1"], [60, "60 B"], 0, 9]] },
  tensors: { all: 1, drawn: [shards] },
};
const layout = (number, seconds, bytes, more) => ({
  number, name: `rows:2,cols:${number} / batch:rows`, devices: [8, "8"], hardware: "h<1>",
  step: [seconds, `${seconds}.00 s`], computes: 1, waiting: "25 %", efficiency: "12 %", einsum: [6, "6 FLOP"],
  sent: [12, "12 B"], memory: [bytes, `${bytes} B`], isDecimal: true, ...more,
});
const one = layout(1, 4, 1000, { details, tokens: "5", isFirst: true });
const data = (layouts, hasBest) => ({ page: "costs", model: "a<b", entry: "train", hasBest, layouts,
  origin: { facts: [["command", "mtfc 'a<b.json'", true], ["model", "a<b"]], hardware: [["memory", "1 GiB"]] } });
const page = pageOf(data([one], true));
has(page, '<header><h1>a&lt;b</h1><p class="dim">train, predicted by mtfc</p>');
has(page, '<p class="verdict">A step takes 4.00 s on 8 devices of h&lt;1&gt;, 25 % of it communication that kernels ' +
  'do not hide, and needs 1000 B of memory.</p>');
has(pageOf(data([{ ...one, limit: [2000, "2 kB"] }], true)), "; it fits, with 1000 B of a device's 2 kB.");
const over = pageOf(data([{ ...one, limit: [500, "500 B"], excess: "501 B" }], false));
has(over, '<p class="verdict bad"><strong>Does not fit:</strong> a device needs 1000 B of memory, 501 B more than ' +
  'it has. A step takes 4.00 s');
check(textOf(over).indexOf("verdict bad") < textOf(over).indexOf("<nav"), "the verdict comes first");
const tiles = textOf(over).split('<dl class="figures large">')[1].split("</dl>")[0];
same([count(tiles, "<dt>"), count(tiles, "<div class=bad>")], [5, 1]);
has(tiles, "<dt>a step, on h&lt;1&gt;</dt><dd>4.00 s</dd>");
has(tiles, "<dt>tokens per second</dt><dd>5</dd>");
has(page,
  "<summary>More figures</summary><dl class=origin><div><dt>devices</dt><dd>8</dd></div>\n<div><dt>  hours&lt;</dt>");
has(page, '<p class="dim">take &lt; care</p>');
has(page, '<th scope=row>all_gather</th><td data-v="2">2</td><td data-v="6">6.00 s<div class=bar><i class=c3 ' +
  'style="width:100.0%">');
check(textOf(page).indexOf("<th scope=row>all_gather</th>") < textOf(page).indexOf("<th scope=row>einsum</th>"),
  "the longest comes first");
has(page, '<th scope=row>ffn</th><td data-v="4">4.00 s<div class=bar><i class=c1 style="width:75.0%"></i><i ' +
  'class=c3 style="width:25.0%"></i></div><div class=bar><i class=c9 style="width:50.0%">');
has(page, '<td data-v="0.5">50 %</td>');
has(page, "The 1 costliest of 5. Memory");
has(page, '<td class="word"><a href="#collective-1-4">all_reduce</a></td>');
has(page,
  '<tr id="collective-1-4"><th scope=row>s</th><td data-v="12">12 B</td><td data-v="1">1</td><td data-v="4">4</td>');
has(page, '>all_reduce<br>over rows</td><td class="word flow">[io, sum over rows]<br>[io]</td>');
has(page, "relu y&lt; <small>/ops/1</small>");
has(page, '<th scope=row>variables of e&lt;</th><td class="'.slice(0, 40));
has(page, '<th scope=row>other optimizer state</th><td data-v="40">40</td>');
has(page, '<th scope=row>together</th><td data-v="1000">1,000</td>');
has(page, "All 1, in s.");
has(page, "<dt>command</dt><dd><code>mtfc 'a&lt;b.json'</code></dd>");
has(page, "<dt>memory</dt><dd>1 GiB</dd>");
for (const [, id] of textOf(page).split("</nav>")[0].matchAll(/href="#([^"]*)"/g)) same(count(page, `id="${id}"`), 1);

// Several layouts.
const reason = { number: 3, name: "rows:2 / x", devices: [2, "2"], reason: "x<y" };
const several = pageOf(data([one, layout(2, 5, 900, { excess: "1 B" }), reason], true));
has(several, '<p class="verdict">Of 3 layouts, number 1 is the best: <strong>rows:2,<wbr>cols:1 / batch:rows' +
  '</strong>, 4.00 s a step and 1000 B of memory on each of 8 devices; 1 does not fit; 1 is not possible.</p>');
has(several, '<tr class=best><th scope=row><a href="#details-1">1 rows:2,<wbr>cols:1 / batch:rows</a></th>');
has(several, '<td class="word flow" colspan=3>not possible: x&lt;y</td>');
has(several, '<td data-v="900"><span class=bad>900 B, does not fit: 1 B too much</span><div class=bar><i class=c5 ' +
  'style="width:90.0%">');
has(several, "The best comes first.");
lacks(several, "<div class=cloud");
lacks(several, "for all tokens");
has(several, '<section id="details-1"><h2>1 rows:2,<wbr>cols:1');
has(several, '<section id="tensors-1" class=screen>');
const priced = pageOf(data([{ ...one, duration: [7200, "2.00 hours"], price: [1250, "1,250"] }, reason], true));
has(priced, '<td data-v="7200">2.00 hours</td><td data-v="1250">1,250</td>');
has(priced, "colspan=5>not possible");
// None that fits is called the best, and all that shows its memory is red.
const limit = [2000, "2 kB"];
const three = [3, 4, 5].map((kB, i) =>
  layout(3 - i, 3 - i, 1000 * kB, { limit, excess: `${kB - 2} kB`, isFirst: true }));
const none = pageOf(data(three, false));
has(none, '<p class="verdict bad">None of the 3 layouts fits: number 3, the smallest, needs 3000 B of memory, 1 kB ' +
  'more than a device has.</p>');
has(none, "The layout that needs least memory comes first.");
for (const praise of ["The best", "class=best", "is the best"]) lacks(none, praise);
same([count(none, "<div class=bar><i class=c5 "), count(none, '<span class="front over" ')], [3, 3]);
has(none, " The red line marks the 2 kB of a device. What does not fit is red. No other layout has");
same(count(none, "<i class=limit style="), 1);
has(none, "<small class=y style=\"bottom:");
has(comparisonVerdict(data(three.slice(0, 2), false)), "Neither of the 2 layouts fits: number 3, the smallest, needs");
has(comparisonVerdict(data([three[0], reason], false)),
  "The only layout that is possible does not fit: it needs 3000 B of memory, 1 kB more than a device has; 1 is not " +
  "possible.</p>");
has(comparisonVerdict(data([...three, reason], false)), "None of the 3 layouts that are possible fits: number 3, ");
has(comparisonVerdict(data([reason, reason], false)), "None of the layouts is possible; 2 are not possible.");
const mixed = comparisonPoints(data([layout(3, 1, 3000, { limit, isFirst: true }),
  ...three.slice(1).map((each) => ({ ...each, isFirst: false }))], true));
same([count(mixed, '<span class="number over" '), count(mixed, '<span class="front" ')], [2, 1]);
has(mixed, "No other layout that fits has as short a step");
has(mixed, "which are filled: 3.");
lacks(comparisonPoints(data(three.map((each) => ({ ...each, limit: [80e9, "80 GB"] })), true)), "limit");
same(count(comparisonPoints(data(range(300).map((i) => layout(i + 1, 1 + i, 1000 + i)), true)), '<span class="dot"'),
  200);

// Curves.
const points = (steps, y, { lows = y, highs = y, gaps = [] } = {}) =>
  steps.map((step, i) => [step, step, `${step}.00 s`, y[i], String(y[i]), lows[i], highs[i], gaps.includes(i)]);
const metric = (name, list, more = {}) => {
  const y = list.map((point) => point[3]), steps = list.map(([step]) => step), end = y.length - 1;
  const pair = (number) => [number, String(number)], time = (i) => `${steps[i]}.00 s`;
  return { name, count: y.length, output: name, isHeldOut: false, isRate: false, points: list,
    first: pair(y[0]), firstStep: pair(steps[0]), firstTime: time(0),
    last: pair(y[end]), lastStep: pair(steps[end]), lastTime: time(end), shown: pair(y[end]),
    least: pair(least(y)), leastStep: pair(1), most: pair(most(y)), mostStep: pair(1), median: pair(y[0]), ...more };
};
const run = (file, ...metrics) => ({ file, extent: "steps 1 to 4", note: "", lines: 4, lastStep: "4",
  elapsed: "4.00 s", metrics });
const plot = (name, y, more) => plotOf([run("r", metric(name, points(y.map((_, i) => i + 1), y), more))], name, false);
const lossOf = (y) => plotFigure(plot("a<b", y), 0);
has(lossOf([4, 2, 3]), "<h3>a&lt;b over steps</h3>");
has(lossOf([4, 2, 3]), "<p>training: 4 at step 1, 3 at step 3; from 2 to 4</p>");
has(lossOf([4, 2, 3]), 'role=img aria-label="a&lt;b over steps. training: 4 at step 1');
has(lossOf([4, 2, 3]), "<output>step 3: training 3</output>");
has(lossOf([4, 2, 3]), "<p>training: 1 of 4 steps have no finite number.</p>");
lacks(lossOf([4, 2, 3]), "logarithmic");
has(lossOf([4000, 2, 3]), "<p>logarithmic scale</p>");
has(lossOf([1000, 1, 31.6227766]), 'd="M0.0 2.1L500.0 297.9L1000.0 150.0"');
lacks(lossOf([2, 3, 4000]), "logarithmic");
for (const name of ["accuracy", "valid/accuracy"])
  same(plot(name, [1, 0.5, 0.01]).y.isLogarithmic, undefined);
same(plot("a", [1, 0.5, 0.01]).y.isLogarithmic, true);
same(plot("loss", [0.2, 0.1, 0]).y.ticks.map(([, text]) => text), ["0", "0.05", "0.1", "0.15", "0.2"]);
// The highest number is at the top, and the lowest at the bottom; the ends leave a margin of a twentieth.
has(lossOf([0, 10, 10]), 'd="M0.0 286.4L500.0 13.6L1000.0 13.6"');
for (const value of [0, 5, -1e300, 1e-300, 1e17])
  for (const list of [[value], [value, value]])
    check(!/NaN|Infinity|undefined/.test(textOf(lossOf(list))), `a line of ${list}`);
same(plotOf([run("r", metric("lr", points([1, 2], [0, 0])))], "lr", false, true).y,
  { from: 0, to: 1, ticks: roundNumbers(0, 1, 5).map((tick) => [tick, `${+tick.toPrecision(4)}`]) });
same(plotOf([run("r", metric("mfu", points([1, 2], [0.1, 0.2]), { output: "" }))], "mfu", false, true).y.ticks[1][1],
  "5 %");
// Means lie in a band of their extremes; lines have gaps, but not those of held-out data.
const thin = metric("loss", points([1, 2, 3], [2, 3, 4], { lows: [1, 3, 4], highs: [5, 3, 4], gaps: [2] }));
has(plotFigure(plotOf([run("r", thin)], "loss", false), 0),
  '<path class=band style="fill:var(--r0)" d="M0.0 13.6L500.0');
has(plotFigure(plotOf([run("r", thin)], "loss", false), 0), "L500.0 150.0M1000.0 81.8");
const heldOut = metric("valid/loss", points([2, 4], [1.5, 1], { gaps: [1] }), { output: "loss", isHeldOut: true });
const both = plotOf([run("a<b", thin, heldOut), run("c", thin, heldOut)], "loss", true);
same(both.lines.map(({ name, run: number, isDotted }) => [name, number, isDotted]),
  [["a<b", 0, false], ["a<b, held-out data", 0, true], ["c", 1, false], ["c, held-out data", 1, true]]);
has(plotFigure(both, 0), "<h3>loss over time</h3>");
has(plotFigure(both, 0), "c: 2 after 1.00 s, 4 after 3.00 s; from 2 to 4");
has(plotFigure(both, 0), 'stroke="var(--r1)" stroke-dasharray="9 4"');
same(readoutText(both, 3), "3.00 s: a<b 4, a<b, held-out data 1.5, c 4, c, held-out data 1.5");
same(readoutText(both, 1), "1.00 s: a<b 2, c 2");
same(plotOf([run("a", thin, heldOut)], "loss", false).lines.map(({ name }) => name), ["training", "held-out data"]);
same(plotsOf({ runs: [run("a", metric("accuracy", points([1], [0])), thin, heldOut,
  metric("learning_rate", points([1], [1]), { output: "" }))] })
  .map(({ title }) => title), ["loss over steps", "accuracy over steps", "learning_rate over steps"]);

// Runs.
const mfu = metric("mfu", points([1, 2], [0.5, 1.58]), { output: "", isRate: true, shown: null });
const rows = [["einsum", [3, "3"], [0.125, "125 ms"], [0.25, "250 ms"], [2, "2.00"], [50, "50.0 %"]],
  ["other", [0, "0"], null, [0, "0 s"], [0, "0.00"], [0, "0.0 %"]]];
const times = { about: "m, train on rows:2. Mean over 3 steps", hardware: "box", figures: [["ranks", "4"]],
  facts: [["model", "m, train"], ["command", "mtfc '<m>'", true]], rows,
  total: ["a step", [0, "0"], [0.25, "250 ms"], [0.5, "500 ms"], [2, "2.00"], [100, "100.0 %"]] };
const runs = (list, measured) => pageOf({ page: "runs", title: "t<", verdict: "It fell & rose.", runs: list,
  changes: { loss: [0, "+0.0 %"], mfu: null }, times: measured });
const alone = runs([{ ...run("a<b>", thin, mfu), note: "MFU not known" }], [times]);
has(alone, '<h1>t&lt;</h1><p class="verdict">It fell &amp; rose.</p>');
has(alone, '<p class="dim">a&lt;b&gt;: steps 1 to 4</p>\n<p class="bad">MFU not known.</p>');
has(alone, "<dt>mfu, median</dt><dd>not known</dd>");
has(alone, "<dt>command</dt><dd><code>mtfc '&lt;m&gt;'</code></dd>");
check(textOf(alone).indexOf('<dl class="figures large">') < textOf(alone).indexOf("<dt>command</dt>"),
  "figures come before facts");
has(alone, '<h2>Predicted and measured</h2><p class="dim">m, train on rows:2. Mean over 3 steps and over all devices;');
has(alone, "Predicted for the hardware profile box.");
has(alone, '<td data-v="3">3</td><td data-v="0.125">125 ms</td><td data-v="0.25">250 ms</td><td data-v="2">2.00</td>' +
  '<td data-v="50">50.0 %</td></tr>');
has(alone, '<tfoot><tr><th scope=row>a step</th>');
lacks(alone, "Side by side");
const unpredicted = { ...times, rows: rows.map((row) => [row[0], row[1], null, ...row.slice(3)]),
  total: [...times.total.slice(0, 2), null, ...times.total.slice(3)] };
has(runs([run("a", thin)], [unpredicted]), "<h2>Time by kind of step</h2>");
lacks(runs([run("a", thin)], [unpredicted]), "predicted (above)");
const two = runs([run("a<", thin, mfu), run("b", thin, { ...mfu, shown: [0.75, "75 %"] })], [times, unpredicted]);
has(two, '<button type=button>figure</button></th><th scope=col><button type=button>a&lt;</button></th>');
has(two,
  '<tr><th scope=row>loss, at last</th><td data-v="4">4</td><td data-v="4">4</td><td data-v="0">+0.0 %</td></tr>');
has(two, '<tr><th scope=row>mfu, median</th><td>not known</td><td data-v="0.75">75 %</td><td>-</td></tr>');
has(two, "<h2>Predicted and measured</h2><p class=\"dim\">a&lt;: m, train");
has(two, "<h2>Time by kind of step</h2><p class=\"dim\">b: m, train");
has(two, '<details\nclass=more><summary>Commands, layouts and hosts</summary>');
check(textOf(two).indexOf("loss, at last") < textOf(two).indexOf("<th scope=row>command</th>"),
  "figures come before commands");

// Whatever the texts of the data are, none is in the markup.
const hostile = (value, key) => key === "page" || typeof value === "number" ? value
  : typeof value === "string" ? '"><img onerror=1>' : Array.isArray(value) ? value.map(hostile)
  : value && typeof value === "object"
  ? Object.fromEntries(Object.entries(value).map(([name, own]) => [name, hostile(own, name)]))
  : value;
const limited = { ...one, limit: [500, "500 B"], excess: "501 B", duration: [7200, "2 h"], price: [1, "1"] };
for (const all of [data([limited], false), data([limited, one, one, reason], true), {
  page: "runs", title: "t", verdict: "v",
  changes: {},
  runs: [run("a", thin, heldOut, mfu), run("b", thin, heldOut, mfu)], times: [times, times] }]) {
  const made = pageOf(hostile(all));
  lacks(made.text, "onerror");
  check(count(made, "&quot;&gt;&lt;img onerror=1&gt;") > 40, "the texts are shown");
  lacks(made, "<img");
}

// The page of validate: points on logarithmic scales, errors by source, parts as bars, and what was refused.
const cells = (number) => [number, `${number} %`];
const validation = {
  page: "validation", title: "t", verdict: "v", figures: [["mean error", "5 %"]], bars: [["Missed: time of a", true]],
  stages: "", timeHeads: ["mean error", "worst pick"], bandHeads: ["below 5 %"], memoryHeads: ["mean error"],
  sources: [
    { name: "a", isSimulated: false, points: [[1, 1.1], [10, 9]], time: [cells(5), null], bands: [cells(5)], memory: null },
    { name: "b", isSimulated: true, points: [], time: null, bands: null, memory: [cells(3)] }],
  total: { name: "all", isSimulated: false, points: [], time: [cells(5), null], bands: null, memory: [cells(3)] },
  worst: [{ name: "a 1", predicted: [1.1, "1.1 s"], measured: [1, "1 s"], error: cells(10), parts: [["products", 0.75]],
    consists: "products 75 %" }],
  parts: ["products"], refused: [["a", "fp8", [3, "3"]]], fit: null, command: "mtfc validate rows.csv",
};
const validated = pageOf(validation);
has(validated, "Predicted and measured");
has(validated, "b (simulated)");
has(validated, "width:100.0%");
has(validated, "fp8");
has(validated, "Missed: time of a");
lacks(validated, "Fitted constants");
check(count(validated, "h0") === 2, "each row with both times is a point");
has(pageOf({ ...validation, fit: { about: "f", keys: [["issue_s", cells(1), cells(2)]], notes: ["n"], rows: ["a/1"] } }),
  "Rows that it was fitted on");
lacks(pageOf({ ...validation, sources: [], worst: [] }), "Predicted and measured");

for (const all of [page, over, several, none, priced, alone, two, validated])
  for (const word of ["undefined", "NaN", "[object", "null", "http:", "https:", "src=", "<link", "onclick"])
    lacks(all, word);
if (failed > 0) throw new Error(`${failed} checks failed`);
console.log("all checks passed");
