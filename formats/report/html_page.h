#pragma once
// The frame of every HTML report: its style, for screens from phone to desktop, light and dark, and for
// paper; and the script that sorts a table by the column that is clicked. The report is complete without the
// script. Nothing is loaded from elsewhere.

#include <string_view>

namespace mtfc {

inline constexpr std::string_view kHtmlStyle = R"(
:root{--c1:#4e79a7;--c2:#59a14f;--c3:#f28e2b;--c4:#b07aa1;--c5:#e15759;--c6:#76b7b2;--c7:#edc948;--c8:#ff9da7;--forward:#4e79a7;--backward:#9c6bb3;--update:#59a14f;
--text:#1b1f24;--dim:#57606a;--line:#d0d7de;--back:#fff;--soft:#f6f8fa;color-scheme:light dark}
@media (prefers-color-scheme:dark){:root{--text:#e6edf3;--dim:#9da7b1;--line:#3d444d;--back:#0d1117;--soft:#161b22}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:70rem;padding:1rem;background:var(--back);color:var(--text);
font:16px/1.45 system-ui,sans-serif}
h1{font-size:1.5rem;margin:.2em 0}h2{font-size:1.2rem;margin:2em 0 .4em;overflow-wrap:anywhere}
h3{font-size:1.05rem;margin:1.6em 0 .4em}h4{font-size:.9rem;margin:0;overflow-wrap:anywhere}
p{margin:.3em 0}.dim,.scale,.ends,.keys,figure p{color:var(--dim);font-size:.85rem}
.ends{display:flex;justify-content:space-between}
.key{white-space:nowrap;margin-right:.8em}.key i{display:inline-block;width:.8em;height:.8em;margin-right:.3em}
.chart{display:block;width:100%;height:11rem;background:var(--soft)}
.lane{display:block;width:100%;height:1.6rem;background:var(--soft);margin-bottom:.3em}
.bars{display:grid;grid-template-columns:minmax(8rem,1fr) repeat(3,minmax(6rem,1fr));gap:.5rem .8rem;margin:1em 0}
.bars .what{overflow-wrap:anywhere;font-size:.9rem}.bars .head{font-weight:600;font-size:.85rem}
.bar{height:.8rem;background:var(--soft);display:flex}.bar i{display:block;height:100%}
.cloud{position:relative;height:14rem;background:var(--soft);border-left:1px solid var(--line);border-bottom:1px solid var(--line)}
.cloud span{position:absolute;transform:translate(-50%,50%);min-width:1.5rem;padding:0 .2rem;border:2px solid var(--c1);
border-radius:1rem;background:var(--back);font-size:.8rem;text-align:center}.cloud .front{background:var(--c1);color:#fff}
.bars small{color:var(--dim)}.best{font-weight:600}
.figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(11rem,1fr));gap:.6rem;margin:1em 0}
.figures div{background:var(--soft);padding:.5rem .7rem;border-radius:.4rem}
.figures b{display:block;font-size:1.1rem}.figures span{color:var(--dim);font-size:.8rem}
.wide{overflow:auto;max-height:34rem}table{border-collapse:collapse;font-size:.85rem}
.list{width:100%}.list th,.list td{border-bottom:1px solid var(--line);padding:.25rem .5rem;text-align:right;
white-space:nowrap}.list th{cursor:pointer;position:sticky;top:0;background:var(--back)}
.list th:first-child,.list td:first-child{text-align:left;white-space:normal;overflow-wrap:anywhere;min-width:9rem}
.list .word{text-align:left}.list .flow{white-space:normal;overflow-wrap:anywhere;min-width:9rem}
tr:target td{background:var(--soft)}th[aria-sort=descending]:after{content:" \2193"}th[aria-sort=ascending]:after{content:" \2191"}
.tensors{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(27rem,100%),1fr));gap:1rem}
figure{margin:0;padding:.7rem;background:var(--soft);border-radius:.4rem;min-width:0;break-inside:avoid}
.matrix th{font-weight:400;color:var(--dim);font-size:.75rem;padding:.1rem .3rem;white-space:nowrap}
.matrix td[style]{border:1px solid #57606a;color:#1b1f24;text-align:center;padding:.35rem .45rem;min-width:2.2rem}
.matrix .gap{text-align:center;color:var(--dim)}
summary{cursor:pointer;font-weight:600;margin:1.2em 0 .4em}
@media (max-width:40rem){body{padding:.7rem}.bars{grid-template-columns:repeat(3,1fr)}.bars .what{grid-column:1/-1}
.bars .head:first-child{display:none}}
@media print{:root{--text:#000;--dim:#333;--back:#fff;--soft:#fff;--line:#999;color-scheme:light}
body{max-width:none;font-size:10pt;padding:0}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}
.list th{position:static}.chart,.lane,.bar,figure{border:1px solid var(--line)}h2{break-before:page}h3{break-after:avoid}
.bars+*{break-before:auto}.wide{overflow:visible;max-height:none}}
)";

inline constexpr std::string_view kHtmlScript = R"(
for(const table of document.querySelectorAll("table.list"))table.tHead.addEventListener("click",event=>{
const head=event.target.closest("th");if(!head)return;const column=head.cellIndex;
const down=head.getAttribute("aria-sort")!=="descending";
for(const other of head.parentNode.cells)other.removeAttribute("aria-sort");
head.setAttribute("aria-sort",down?"descending":"ascending");
const value=row=>{const cell=row.cells[column];return cell.dataset.v===undefined?cell.textContent:+cell.dataset.v};
const rows=[...table.tBodies[0].rows];
rows.sort((a,b)=>{const x=value(a),y=value(b);const order=typeof x==="number"?x-y:x.localeCompare(y);
return down?-order:order});
table.tBodies[0].append(...rows)});
addEventListener("beforeprint",()=>{for(const part of document.querySelectorAll("details"))part.open=true});
)";

}  // namespace mtfc
