#include "formats/report/html_page.h"

namespace mtfc {

// Each colour has a contrast of at least 3 with the ground behind it, and text of at least 4.5 (WCAG 2.2).
std::string_view html_style() {
  return R"(
:root{--c1:#3a6ea5;--c2:#2f7d46;--c3:#b85c00;--c4:#8a559c;--c6:#1c7c84;--c7:#857000;--c8:#c24a80;--c9:#5d6875;
--c10:#4b4fb5;--c11:#7d5a3c;--c12:#5c7a00;--c13:#0077a3;--c14:#a02bb8;--c15:#00695c;--bad:#b3261e;
--text:#1b1f24;--dim:#57606a;--line:#c3cad2;--back:#fff;--soft:#f4f6f8;--link:#0a58ca;color-scheme:light dark}
@media (prefers-color-scheme:dark){:root{--c1:#6ea8dc;--c2:#5cb877;--c3:#e8913a;--c4:#bf93d1;--c6:#4fbcc2;--c7:#cdb13f;
--c8:#ee8cb6;--c9:#95a1ae;--c10:#a3a6f5;--c11:#c9a27e;--c12:#a5c44a;--c13:#58b9e0;--c14:#dd8af0;--c15:#5fc4a8;--bad:#ff8a80;
--text:#e6edf3;--dim:#9da7b1;--line:#3d444d;--back:#0d1117;--soft:#161b22;--link:#79b8ff}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:75rem;padding:1rem 1.25rem;background:var(--back);color:var(--text);font:16px/1.45 system-ui,sans-serif}
a{color:var(--link)}:focus-visible{outline:3px solid var(--link);outline-offset:2px}
.wide:focus-visible{outline-offset:-3px}
h1{font-size:1.6rem;margin:.2em 0;overflow-wrap:anywhere}
h2{font-size:1.25rem;margin:2.2em 0 .5em;padding-top:.6em;border-top:2px solid var(--line);overflow-wrap:anywhere}
h3{font-size:1.1rem;margin:1.8em 0 .4em}h4{font-size:.95rem;margin:1em 0 .3em;overflow-wrap:anywhere}
p{margin:.3em 0}.dim,.scale,.ends,.keys,figure p,caption{color:var(--dim);font-size:.85rem}
code{font-size:.95em;overflow-wrap:anywhere}
.ends{display:flex;justify-content:space-between}.paper{display:none}
nav{font-size:.9rem;margin:1em 0}nav ul{margin:0;padding:0;list-style:none}nav>ul>li{margin:.35em 0;overflow-wrap:anywhere}
nav ul ul{display:flex;flex-wrap:wrap;gap:.1rem 1rem;margin:.1em 0 .2em 1.2em;font-size:.85rem}
.c1{background:var(--c1);fill:var(--c1)}.c2{background:var(--c2);fill:var(--c2)}.c3{background:var(--c3);fill:var(--c3)}
.c4{background:var(--c4);fill:var(--c4)}.c5{background:var(--bad);fill:var(--bad)}.c6{background:var(--c6);fill:var(--c6)}
.c7{background:var(--c7);fill:var(--c7)}.c8{background:var(--c8);fill:var(--c8)}.c9{background:var(--c9);fill:var(--c9)}
.c10{background:var(--c10);fill:var(--c10)}.c11{background:var(--c11);fill:var(--c11)}.c12{background:var(--c12);fill:var(--c12)}
.c13{background:var(--c13);fill:var(--c13)}.c14{background:var(--c14);fill:var(--c14)}.c15{background:var(--c15);fill:var(--c15)}
.verdict{font-size:1.15rem;margin:.6em 0}.bad,.figures .bad dd,.list .bad{color:var(--bad)}
.limit{fill:none;stroke:var(--bad);stroke-width:2;vector-effect:non-scaling-stroke}.halo{stroke:var(--back);stroke-width:6}
.key{display:inline-block;margin-right:.8em}.key i{display:inline-block;width:.8em;height:.8em;margin-right:.35em}
.chart{display:block;width:100%;height:11rem;background:var(--soft)}
.lane{display:block;width:100%;height:1.6rem;background:var(--soft);margin-bottom:.3em}
.tick{fill:none;stroke:var(--text);stroke-opacity:.35;stroke-dasharray:2 3;vector-effect:non-scaling-stroke}
.axis{position:relative;height:1.5em;font-size:.8rem;color:var(--dim)}
.axis span{position:absolute;transform:translateX(-50%);white-space:nowrap}.axis span:first-child{transform:none}.axis .last{transform:translateX(-100%)}
.bar{height:.55rem;min-width:5rem;background:var(--soft);display:flex;gap:1px;margin-top:.15rem}.bar i{display:block;height:100%;min-width:1px}
.cloud{position:relative;height:16rem;margin:.5rem .5rem 2rem 5rem;background:var(--soft);border-left:1px solid var(--dim);border-bottom:1px solid var(--dim)}
.cloud>*{position:absolute}.cloud span{transform:translate(-50%,50%);border-radius:1rem;border:2px solid var(--c1);background:var(--back)}
.cloud .number,.cloud .front{min-width:1.6rem;padding:0 .2rem;font-size:.8rem;text-align:center}
.cloud .front{background:var(--c1);color:var(--back);font-weight:600}.cloud .dot{width:.6rem;height:.6rem}
.cloud .over{border-color:var(--bad)}.cloud .front.over{background:var(--bad)}.cloud i.limit{left:0;right:0;border-top:2px solid var(--bad)}
.cloud small{color:var(--dim);white-space:nowrap}.cloud small.x{top:100%;transform:translateX(-50%)}
.cloud small.y{right:calc(100% + .4rem);transform:translateY(50%)}.cloud i.x{top:0;bottom:0;border-left:1px dashed var(--line)}
.cloud i.y{left:0;right:0;border-top:1px dashed var(--line)}
.list .best th,.list .best td{font-weight:700}
.more{margin:.5em 0}.more summary{color:var(--link);font-size:.9rem}
.hint{margin:.2em 0}
dl{margin:.6em 0}dd{margin:0;overflow-wrap:anywhere}
.figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(10.5rem,1fr));gap:.6rem}
.figures div{background:var(--soft);padding:.5rem .7rem;border-radius:.4rem;display:flex;flex-direction:column-reverse;justify-content:flex-end}
.figures.large{grid-template-columns:repeat(auto-fit,minmax(11rem,1fr))}
.figures dd{font-size:1.1rem;font-weight:600}.figures.large dd{font-size:1.5rem}.figures dt{color:var(--dim);font-size:.8rem}
.origin div{display:flex;gap:1rem;padding:.15rem 0}.origin dt{flex:0 0 10rem;color:var(--dim)}.origin dd{min-width:0}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(25rem,100%),1fr));gap:0 2rem;align-items:start}.pair>*{min-width:0}
.wide{overflow:auto;max-height:34rem;margin:.4em 0}table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums}
.list{width:100%}.list th,.list td{border-bottom:1px solid var(--line);padding:.25rem .5rem;text-align:right;vertical-align:top;white-space:nowrap}
.list thead th{position:sticky;top:0;z-index:1;background:var(--back)}
.list tbody th{font-weight:400}.list th:first-child{text-align:left;white-space:normal;overflow-wrap:anywhere;min-width:10rem}
.list .word{text-align:left}.list .flow{white-space:normal;overflow-wrap:anywhere;min-width:9rem}
.list small{color:var(--dim);overflow-wrap:anywhere}
.list thead button{font:inherit;font-weight:700;color:inherit;background:none;border:0;border-radius:.2rem;padding:0;margin:0;cursor:pointer;text-align:inherit}
.list thead button:after{content:" \2195";color:var(--dim)}
th[aria-sort=descending] button:after{content:" \2193"}th[aria-sort=ascending] button:after{content:" \2191"}
.filter{display:flex;flex-wrap:wrap;gap:.3rem .6rem;align-items:center;font-size:.85rem;margin:.4em 0}
.filter input{font:inherit;padding:.2rem .5rem;width:16rem;max-width:100%;color:inherit;background:var(--back);border:1px solid var(--dim);border-radius:.3rem}
.filter output{color:var(--dim)}
.members{white-space:pre-line;color:var(--dim);padding:.2rem 0 .2rem 1rem}
summary{cursor:pointer}tr:target>*{background:var(--soft)}
.mesh td,.mesh th{padding:.25rem .4rem;text-align:center;font-weight:400;white-space:nowrap}.mesh th{color:var(--dim)}
.mesh caption{text-align:left;padding-bottom:.2rem}
.mesh .device{border:1px solid #8b949e;min-width:2.4rem}.mesh .device[style]{color:#1b1f24}
.mesh .top{border-top:3px solid var(--text)}.mesh .low{border-bottom:3px solid var(--text)}
.mesh .left{border-left:3px solid var(--text)}.mesh .right{border-right:3px solid var(--text)}
.tensors{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(27rem,100%),1fr));gap:1rem}
figure{margin:0;padding:.7rem;background:var(--soft);border-radius:.4rem;min-width:0;break-inside:avoid}figure h4{margin:0}
.matrix th{font-weight:400;color:var(--dim);font-size:.75rem;padding:.1rem .3rem;white-space:nowrap}
.matrix td[style]{border:1px solid #57606a;color:#1b1f24;text-align:center;padding:.35rem .45rem;min-width:2.2rem}
.matrix .gap,.mesh .gap{text-align:center;color:var(--dim)}
@media (max-width:40rem){body{padding:.7rem}.origin div{display:block}.cloud{margin:.5rem 1.6rem 2rem 4.2rem}
.figures,.figures.large{grid-template-columns:1fr 1fr}.figures.large dd{font-size:1.2rem}.large div:last-child:nth-child(odd){grid-column:1/-1}.list th,.list td{padding:.25rem .35rem}.list th:first-child{min-width:8.5rem}}
@media print{@page{size:A4;margin:12mm}
:root{--c1:#3a6ea5;--c2:#2f7d46;--c3:#b85c00;--c4:#8a559c;--c6:#1c7c84;--c7:#857000;--c8:#c24a80;--c9:#5d6875;
--c10:#4b4fb5;--c11:#7d5a3c;--c12:#5c7a00;--c13:#0077a3;--c14:#a02bb8;--c15:#00695c;--bad:#b3261e;
--text:#000;--dim:#333;--back:#fff;--soft:#f4f6f8;--line:#999;--link:#000;color-scheme:light}
body{max-width:none;font-size:9pt;line-height:1.3;padding:0}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}
nav,.screen,.filter,.hint,.readout{display:none}.paper{display:block}a{text-decoration:none}
.list thead th{position:static}.list thead button:after{content:""}
.list tbody tr:nth-child(n+7){display:none}.wide{overflow:visible;max-height:none;break-inside:avoid}
.list th,.list td{padding:.1rem .3rem}table,.dim,.scale,.keys{font-size:8pt}details .members{display:none}
.chart{height:5rem}.lane{height:.9rem}.cloud{height:9rem}.bar{height:.4rem;min-width:3rem}
h2{margin:1.2em 0 .4em;font-size:12pt}h3{margin:.9em 0 .2em;font-size:10pt}h4{margin:.4em 0 .1em;font-size:9pt}
h2,h3,h4,.keys,.scale{break-after:avoid}.figures,.figures.large{grid-template-columns:repeat(6,1fr);gap:.2rem}
.figures div{padding:.2rem .4rem}.figures dd,.figures.large dd{font-size:9pt}.figures dt{font-size:7pt}
.pair{grid-template-columns:1fr 1fr;gap:0 1rem}.origin div{padding:0;display:flex}}
)";
}

}  // namespace mtfc
