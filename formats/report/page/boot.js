// What happens in a browser: the page is drawn, tables are sorted and filtered, and drawings show their numbers.

const PAGES = { runs: runsPage, validation: validationPage };
const pageOf = (data) => (PAGES[data.page] || costsPage)(data);

/** What a row is sorted by: the number of its cell, or else the text. */
const valueOf = ({ cells }, column) =>
  !cells[column] ? "" : cells[column].dataset.v === undefined ? cells[column].textContent : +cells[column].dataset.v;
const compared = (x, y) => typeof x === "number" && typeof y === "number"
  ? x - y : String(x).localeCompare(String(y), undefined, { numeric: true });
function sortBy(head) {
  const descends = head.getAttribute("aria-sort") !== "descending", body = head.closest("table").tBodies[0];
  for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", descends ? "descending" : "ascending");
  const rows = [...body.rows].sort((a, b) => compared(valueOf(a, head.cellIndex), valueOf(b, head.cellIndex)));
  body.append(...(descends ? rows.reverse() : rows));
}

/** Words that a row has to contain. The number of a repetition also finds the rows in which repetitions are folded:
 *  layer_3 finds layer_{0..5}. */
const patternsOf = (text) => text.trim().split(/\s+/).filter(Boolean).map((word) => new RegExp(
  word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/_(\d+)/g, "_(?:$1|\\{[^}]*\\}|\\*)"), "i"));
function filterBy(field) {
  const line = field.closest(".filter"), patterns = patternsOf(field.value);
  const { rows } = line.nextElementSibling.nextElementSibling.querySelector("tbody");  // behind the hint
  let shown = 0;
  for (const row of rows) {
    row.hidden = !patterns.every((pattern) => pattern.test(row.textContent));
    shown += !row.hidden;
  }
  line.querySelector("output").textContent = patterns.length > 0 ? `${shown} of ${rows.length} rows` : "";
}

/** Shows the numbers of a drawing at one of its places, and marks the place. */
function showValues(figure, plot, at) {
  const x = plotPlaces(plot)[at], text = readoutText(plot, x), slider = figure.querySelector("input");
  slider.value = at;
  slider.setAttribute("aria-valuetext", text);
  figure.querySelector("output").textContent = text;
  figure.querySelector(".cursor").setAttribute("d", `M${WIDTH * placeOn(plot.x)(x)} 0V${HEIGHT}`);
}
function showNearest(figure, plot, { clientX }) {
  const { left, width } = figure.querySelector(".plot-area").getBoundingClientRect();
  const x = plot.x.from + ((plot.x.to - plot.x.from) * (clientX - left)) / width, places = plotPlaces(plot);
  showValues(figure, plot, places.reduce((best, place, i) =>
    (Math.abs(place - x) < Math.abs(places[best] - x) ? i : best), 0));
}

/** Only boxes that scroll have to be reached by the keyboard, and they say that they scroll. */
function markBoxes() {
  for (const each of document.querySelectorAll(".wide")) {
    const across = each.scrollWidth > each.clientWidth, down = each.scrollHeight > each.clientHeight;
    if (across || down) each.tabIndex = 0;
    else each.removeAttribute("tabindex");
    const hint = each.previousElementSibling;
    hint.hidden = !(across || down);
    const ways = [across && "to the right", down && "down"].filter(Boolean);
    hint.textContent = `This table scrolls ${ways.join(" and ")}.`;
  }
}

/** The elements of a page, from its markup without texts, and then the texts. */
function elementsOf(markup) {
  const template = document.createElement("template");
  template.innerHTML = markup.text;
  const walker = document.createTreeWalker(template.content, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
  while (walker.nextNode())
    for (const node of walker.currentNode.attributes || [walker.currentNode]) node.nodeValue = filledIn(node.nodeValue);
  return template.content;
}

function boot(data) {
  document.body.className = data.page;
  document.body.prepend(elementsOf(pageOf(data)));
  addEventListener("click", ({ target }) => {
    const button = target.closest(".list thead button");
    if (button) sortBy(button.parentNode);
  });
  addEventListener("input", ({ target }) => {
    if (target.closest(".filter")) filterBy(target);
  });
  const plots = data.page === "runs" ? plotsOf(data) : [];
  for (const figure of document.querySelectorAll("[data-plot]")) {
    const plot = plots[figure.dataset.plot];
    figure.querySelector("input").addEventListener("input", ({ target }) => showValues(figure, plot, +target.value));
    figure.querySelector(".plot-area").addEventListener("pointermove", (event) => showNearest(figure, plot, event));
  }
  addEventListener("beforeprint", () => document.querySelectorAll(".more").forEach((more) => (more.open = true)));
  markBoxes();
  addEventListener("resize", markBoxes);
}
if (typeof document !== "undefined") boot(JSON.parse(document.getElementById("data").textContent));
