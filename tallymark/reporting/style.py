"""How the pages look: plain, light or dark as the reader's system is, and narrow on a phone.

Blue and orange carry meaning; readers with any kind of colour vision tell them apart.
"""

CSS = """
:root{--ink:#1b2027;--soft:#5c6773;--line:#dfe3e8;--paper:#f6f7f9;--card:#fff;--accent:#0072b2;--mark:#c75300;
--wash:#0072b214}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ed;--soft:#98a3af;--line:#2d343d;--paper:#12161b;--card:#1a1f26;
--accent:#56b4e9;--mark:#f0a04b;--wash:#56b4e91f}}
*{box-sizing:border-box}
html{scroll-behavior:smooth}
body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,
"Helvetica Neue",Arial,sans-serif;-webkit-text-size-adjust:100%}
header,main{max-width:1200px;margin:0 auto;padding:0 24px}
header{padding-top:40px}
h1{font-size:30px;line-height:1.2;letter-spacing:-.015em;margin:0;overflow-wrap:anywhere}
.lead{color:var(--soft);margin:6px 0 22px;overflow-wrap:anywhere}
.facts{display:flex;flex-wrap:wrap;gap:12px 40px;padding:16px 0;border-block:1px solid var(--line)}
.facts div{display:flex;flex-direction:column}
.facts b{font-size:26px;line-height:1.2;font-weight:650;font-variant-numeric:tabular-nums}
.facts span{color:var(--soft);font-size:13px}
nav{display:flex;flex-wrap:wrap;gap:4px 18px;padding:12px 0;font-size:14px}
a{color:var(--accent);text-decoration:none}
a:hover{text-decoration:underline}
section{padding:18px 0 10px}
h2{font-size:20px;letter-spacing:-.01em;margin:0 0 4px}
h2+p{color:var(--soft);margin:0 0 14px;max-width:75ch}
h3{font-size:15px;margin:22px 0 10px}
.scroll{overflow-x:auto;margin:10px 0}
table{border-collapse:collapse;font-size:14px;min-width:min(100%,420px)}
th,td{padding:6px 14px 6px 0;border-bottom:1px solid var(--line);text-align:left;vertical-align:top;
overflow-wrap:break-word;max-width:46ch}
th{color:var(--soft);font-weight:500;white-space:nowrap;vertical-align:bottom}
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap;padding:6px 0 6px 22px}
.n+td:not(.n),.n+th:not(.n){padding-left:22px}
details{margin:8px 0}
summary{cursor:pointer;color:var(--accent);font-size:14px}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,340px),1fr));gap:16px;margin:12px 0}
.chart{margin:0;background:var(--card);border:1px solid var(--line);border-radius:10px;padding:14px 16px 10px}
.chart.broad{grid-column:1/-1}.chart.bars{grid-column:1/-1;max-width:640px}
.chart figcaption{font-weight:600;font-size:14px;margin-bottom:6px}
.chart figcaption small,.chart>small{font-weight:400;font-size:12.5px;color:var(--soft)}
.chart>small{display:block;margin-top:2px}
.chart svg{display:block;width:100%;height:auto;overflow:visible}
.beside{display:flex;flex-wrap:wrap;gap:8px 36px;align-items:flex-start}.beside>*{flex:0 1 auto;max-width:100%}
.beside>.chart{flex:1 1 380px;margin-top:12px}
.many{display:grid;grid-template-columns:repeat(auto-fill,minmax(150px,1fr));gap:10px 18px}
svg text{font-size:11px;fill:var(--soft);font-variant-numeric:tabular-nums}
svg .strong{fill:var(--ink)}
svg .bar{fill:var(--accent)}
svg .bar:hover{fill:var(--mark)}
svg .grid{stroke:var(--line);stroke-width:1}
svg .axis{stroke:var(--soft);stroke-width:1}
svg .mark{stroke:var(--mark);stroke-width:1.5;stroke-dasharray:4 3}
svg .marked{fill:var(--mark)}
svg .line{fill:none;stroke:var(--accent);stroke-width:2;stroke-linejoin:round}
.tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,220px),1fr));gap:16px}
.tiles.wide{grid-template-columns:repeat(auto-fill,minmax(min(100%,340px),1fr))}
.tile{margin:0;background:var(--card);border:1px solid var(--line);border-radius:10px;overflow:hidden}
.tile img{display:block;width:100%;height:auto;cursor:zoom-in;background:#12161b}
.tile audio{display:block;width:100%;height:36px}
.tile figcaption{padding:9px 12px 11px;font-size:12.5px;line-height:1.45}
.tile b{font-weight:600;font-size:13px;overflow-wrap:anywhere;overflow:hidden;
display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:2}
.tile span{display:block;color:var(--soft);overflow-wrap:anywhere}
.tile .why{color:var(--mark);font-weight:600}
.legend{display:flex;flex-wrap:wrap;gap:4px 16px;font-size:13px;color:var(--soft);margin:8px 0}
.legend i{display:inline-block;width:12px;height:12px;border-radius:3px;margin-right:6px;vertical-align:-1px;
box-shadow:0 0 0 1px var(--soft)}
.quiet{color:var(--soft)}
main{padding-bottom:60px}
dialog{border:0;padding:0;background:none;max-width:96vw;max-height:96vh}
dialog img{display:block;width:auto;height:auto;min-width:min(94vw,720px);max-width:96vw;max-height:94vh;
object-fit:contain;cursor:zoom-out}
dialog::backdrop{background:#000c}
@media(max-width:600px){header,main{padding-inline:16px}header{padding-top:24px}h1{font-size:24px}
.facts{gap:12px 26px}.facts b{font-size:21px}.tiles{grid-template-columns:repeat(2,1fr);gap:10px}
.tiles.wide{grid-template-columns:1fr}}
@media print{.tile,.chart{break-inside:avoid}nav{display:none}}
""".replace("\n", "")

SCRIPT = """
const box=document.querySelector('dialog');
document.addEventListener('click',event=>{
if(box.open){box.close();return}
const picture=event.target.closest('.tile img');
if(picture){box.replaceChildren(picture.cloneNode());box.showModal()}});
""".replace("\n", "")
"""Enlarges a picture on a click. The page is complete without it."""
