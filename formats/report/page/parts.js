"use strict";
// Pieces of pages. Functions return markup for data, and none of them needs a browser.
//
// A figure is a pair in the data, [number, text]: C++ writes the text, and the number sorts and draws. Only the labels
// of axes, which are round numbers, are written here.

// Nothing of the data is ever parsed as markup: markup has the number of a text between two marks, and boot.js puts the
// text there, into an element or an attribute.
const TEXTS = [];
const TEXT_PLACE = /\uE000(\d+)\uE001/g;
class Markup {
  constructor(text) {
    this.text = text;
  }
}
function markupOf(value) {
  if (value instanceof Markup) return value.text;
  if (Array.isArray(value)) return value.map(markupOf).join("");
  if (value === undefined || value === null || value === false) return "";
  return typeof value === "number" ? String(value) : `\uE000${TEXTS.push(String(value)) - 1}\uE001`;
}
/** html`<b>${name}</b>`: values are texts, numbers, markup, lists of these, or nothing. */
const html = (parts, ...values) =>
  new Markup(parts.map((part, i) => (i === 0 ? "" : markupOf(values[i - 1])) + part).join(""));
const filledIn = (marked, shown = (text) => text) => marked.replace(TEXT_PLACE, (_, number) => shown(TEXTS[number]));
const joined = (list, between) => list.map((value, i) => (i === 0 ? value : [between, value]));

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
const product = (numbers) => numbers.reduce((total, number) => total * number, 1);
/** The largest number, or 0; the lists may be too long to be arguments. */
const most = (numbers) => numbers.reduce((a, b) => Math.max(a, b), 0);
const least = (numbers) => numbers.reduce((a, b) => Math.min(a, b), Infinity);
const range = (size) => Array.from({ length: size }, (_, i) => i);
const percent = (share) => (100 * share).toFixed(1) + "%";
/** A whole number, with all digits in groups of three. */
const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");
/** `All 3`, `The 2 largest of 3`: how many of the rows that there are a table has. */
const shareText = (shown, all, which) =>
  shown === all ? `All ${grouped(all)}` : `The ${grouped(shown)} ${which} of ${grouped(all)}`;
/** The first names, and how many there are besides. */
const namesText = (names, room) =>
  names.slice(0, room).join(", ") + (names.length > room ? ` and ${names.length - room} more` : "");

// Units by their sizes, the largest first.
const TIMES = [[86400, "days"], [3600, "h"], [60, "min"], [1, "s"], [1e-3, "ms"], [1e-6, "us"], [1e-9, "ns"]];
const unitsOf = (base, names) => names.map((name, i) => [base ** (names.length - 1 - i), name]);
const DECIMAL_BYTES = unitsOf(1000, ["TB", "GB", "MB", "kB", "B"]);
const BINARY_BYTES = unitsOf(1024, ["TiB", "GiB", "MiB", "KiB", "B"]);
const unitOf = (units, number) => units.find(([size]) => number >= 0.999 * size) || units[units.length - 1];

/** The round numbers in the base 2 or 10 within a range, at most one more than `parts`. */
function roundNumbers(from, to, parts, base = 10) {
  const apart = (0.999 * (to - from)) / parts, power = base ** Math.floor(Math.log(apart) / Math.log(base));
  const step = [1, 2, base / 2, base].map((factor) => factor * power).find((each) => each >= apart);
  const first = Math.ceil(from / step), count = Math.min(Math.floor(to / step + 1e-9) - first + 1, 2 * parts + 2);
  return range(Math.max(count, 0)).map((i) => (first + i) * step + 0);
}
/** Marks [number, text] of an axis that is labelled in one unit: the largest that its end reaches. */
function ticksOf(from, to, parts, units, base = 10) {
  const [size, unit] = unitOf(units, to);
  return roundNumbers(from / size, to / size, parts, base)
    .map((number) => [number * size, `${+number.toPrecision(4)} ${unit}`]);
}

/** What the classes c1 to c15 mean, the same in all drawings. The variables of groups take turns in two. */
const COLOURS = {
  kernels: 1, memory: 2, communication: 3, variables: 4, beyond: 5, inputs: 7, backward: 8, peak: 9, forward: 10,
  update: 11, workspace: 12, activations: 13, gradients: 15,
};
const groupColour = (number) => (number % 2 === 0 ? 6 : 14);

const key = (colour, text) => html`<span class=key><i class=c${colour}></i>${text}</span> `;
const paragraph = (text, kind = "dim") => html`<p class="${kind}">${text}</p>\n`;

/** Tiles [name, text, is bad]: five large ones, and the others folded, or instead of them what is given. */
function figures(all, more) {
  const tiles = (list, kind) => html`<dl class="${kind}">${list.map(([name, text, isBad]) =>
    html`<div${isBad && html` class=bad`}><dt>${name}</dt><dd>${text}</dd></div>\n`)}</dl>`;
  const folded = more || (all.length > 5 && tiles(all.slice(5), "figures"));
  return [tiles(all.slice(0, 5), "figures large"),
    folded && html`<details class=more><summary>More figures</summary>${folded}</details>\n`];
}
/** Facts [name, text, is code]. */
const facts = (list) => html`<dl class=origin>${list.map(([name, text, isCode]) =>
  html`<div><dt>${name}</dt><dd>${isCode ? html`<code>${text}</code>` : text}</dd></div>\n`)}</dl>`;

/** What scrolls if it is too large. `label` says what it is. */
const box = (label, content) =>
  html`<p class="dim hint" hidden></p><div class=wide tabindex=0 role=group aria-label="${label}">${content}</div>\n`;

/** A bar of parts [number, colour] over `longest`. The figure stands beside it for who does not see it. */
function bar(parts, longest) {
  const shown = longest > 0 ? parts.filter(([number]) => number > 0) : [];
  return shown.length > 0 && html`<div class=bar>${shown.map(([number, colour]) =>
    html`<i class=c${colour} style="width:${percent(number / longest)}"></i>`)}</div>`;
}
/** A figure that a table shows also if it is 0. */
const always = ([number, text]) => [number, text, true];
const whole = (number) => always([number, grouped(number)]);

/** A table that can be sorted and, if it is long, filtered. A column is [head, content, kind, bars]: the content of a
 *  row, by its index or from a function; the kind, "" for figures, "word" for words and "word flow" for those that
 *  break; and the bars of a row, each a list of parts, which relate to the longest of the column. Options: `sortedBy`,
 *  the column by which rows descend; `foot`, a last row; `kindOf` and `idOf` a row; `instead`, what a row has in place
 *  of its cells from the third on. */
function table(label, rows, columns, { sortedBy, foot, kindOf, idOf, instead = () => false } = {}) {
  const regular = rows.filter((row) => !instead(row));
  const longest = columns.map(([, , , bars]) =>
    bars && most(regular.flatMap((row) => bars(row).map((parts) => sum(parts.map(([number]) => number))))));
  const contentOf = ([, content], row) => (typeof content === "function" ? content(row) : row[content]);
  const cell = (column, i, row) => {
    const [, , kind, bars] = column, content = contentOf(column, row);
    if (kind) return html`<td class="${kind}">${content}</td>`;
    if (!Array.isArray(content)) return html`<td>${content}</td>`;
    const [number, text, showsZero] = content;
    return html`<td data-v="${number}">${(number !== 0 || showsZero) && text}${
      bars && bars(row).map((parts) => bar(parts, longest[i]))}</td>`;
  };
  const line = (row) => {
    const special = instead(row), kind = kindOf && kindOf(row);
    const cells = columns.map((column, i) => i > 0 && (i < 2 || !special) && cell(column, i, row));
    return html`<tr${idOf && html` id="${idOf(row)}"`}${kind && html` class=${kind}`}><th scope=row>${
      contentOf(columns[0], row)}</th>${cells}${
      special && html`<td class="word flow" colspan=${columns.length - 2}>${special}</td>`}</tr>\n`;
  };
  const heads = columns.map(([head, , kind], i) => html`<th scope=col${kind && html` class="${kind}"`}${
    i === sortedBy && html` aria-sort=descending`}><button type=button>${head}</button></th>`);
  const filter = html`<p class=filter><label>Filter ${label} <input type=search></label><output></output></p>\n`;
  return [rows.length > 8 && filter,
    box(label, html`<table class=list><thead><tr>${heads}</tr></thead><tbody>\n${rows.map(line)}</tbody>${
      foot && html`<tfoot>${line(foot)}</tfoot>`}</table>`)];
}

/** The name of a row [name, members]: if it stands for several, a list of them opens, shortened before the last. */
function folded([name, members]) {
  if (members.length === 0) return name;
  const room = 24, list = members.length <= room ? members
    : [...members.slice(0, room - 1), `and ${members.length - room} more, up to`, members[members.length - 1]];
  return html`<details><summary>${name}</summary><div class=members>${list.map((text) => text + "\n")}</div></details>`;
}
