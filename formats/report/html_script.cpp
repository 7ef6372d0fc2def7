#include "formats/report/html_page.h"

namespace mtfc {

// Buttons and fields that do nothing without the script are made by it.
std::string_view html_script() {
  return R"script(
"use strict";
const value=(row,column)=>{const cell=row.cells[column];
return cell===undefined?"":cell.dataset.v===undefined?cell.textContent:+cell.dataset.v};
const compare=(x,y)=>typeof x==="number"&&typeof y==="number"?x-y:
String(x).localeCompare(String(y),undefined,{numeric:true});
function sort(table,head){
const down=head.getAttribute("aria-sort")!=="descending",column=head.cellIndex,body=table.tBodies[0];
for(const other of head.parentNode.cells)other.removeAttribute("aria-sort");
head.setAttribute("aria-sort",down?"descending":"ascending");
const rows=[...body.rows].sort((a,b)=>compare(value(a,column),value(b,column)));
body.append(...(down?rows.reverse():rows))}
// The number of a repetition also finds the rows in which repetitions are folded: layer_3 finds layer_{0..5}.
function pattern(word){
return new RegExp(word.replace(/[.*+?^${}()|[\]\\]/g,"\\$&").replace(/_(\d+)/g,"_(?:$1|\\{[^}]*\\}|\\*)"),"i")}
function filter(table,field,count){
const words=field.value.trim().split(/\s+/).filter(Boolean).map(pattern),rows=[...table.tBodies[0].rows];
let shown=0;
for(const row of rows){row.hidden=!words.every(word=>word.test(row.textContent));shown+=!row.hidden}
count.textContent=words.length?shown+" of "+rows.length+" rows":""}
let filters=0;
function addFilter(table){
const box=table.closest(".wide"),line=document.createElement("p"),field=document.createElement("input"),
name=document.createElement("label"),count=document.createElement("output");
line.className="filter";field.type="search";field.id=name.htmlFor="filter-"+ ++filters;
name.textContent="Filter "+box.getAttribute("aria-label");
field.addEventListener("input",()=>filter(table,field,count));
line.append(name,field,count);box.before(line)}
for(const table of document.querySelectorAll("table.list")){
for(const head of table.tHead.rows[0].cells){
const button=document.createElement("button");button.type="button";button.append(...head.childNodes);head.append(button);
button.addEventListener("click",()=>sort(table,head))}
if(table.tBodies[0].rows.length>8)addFilter(table)}
// Only boxes that scroll have to be reached by the keyboard, and they say that they scroll.
function markBoxes(){for(const box of document.querySelectorAll(".wide")){
const across=box.scrollWidth>box.clientWidth,down=box.scrollHeight>box.clientHeight;
if(across||down)box.tabIndex=0;else box.removeAttribute("tabindex");
let hint=box.previousElementSibling;
if(!hint||!hint.classList.contains("hint")){hint=document.createElement("p");hint.className="dim hint";box.before(hint)}
hint.hidden=!(across||down);
hint.textContent="This table scrolls "+(across&&down?"to the right and down":across?"to the right":"down")+"."}}
addEventListener("beforeprint",()=>{for(const more of document.querySelectorAll(".more"))more.open=true});
markBoxes();addEventListener("resize",markBoxes);
)script";
}

}  // namespace mtfc
