/** Styles of lists and their details: views, filter chips, rows that fold, the panel, verdicts and rules. */
export const LIST_STYLE = `
:root { --accent-line: #b9caf3; --hold: #6439b0; --hold-soft: #f0eafc; --hold-line: #d3c3f2; }
@media (prefers-color-scheme: dark) { :root { --accent-line: #33487f; --hold: #c6abf8; --hold-soft: #241b37; --hold-line: #4b3976; } }
a.plain, .row-link { color: inherit; text-decoration: none; } a.plain:hover, .row-link:hover { text-decoration: underline; }
a.dim { color: var(--text-2); } .push { margin-left: auto; }
.cut { display: block; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; min-width: 0; max-width: none; } td .cut, th .cut { line-height: 24px; } .cut > a { padding-block: .3rem; }
.dim { color: var(--text-2); }
.out { display: inline-flex; align-items: center; gap: .4rem; font-weight: 550; white-space: nowrap; vertical-align: middle; }
.out.bad { color: var(--bad); } .out.warn { color: var(--warn); } .out.hold { color: var(--hold); }
.out.quiet { color: var(--text-2); font-weight: 400; } .out.allowed .i { color: var(--good); }
.head { display: flex; flex-wrap: wrap; align-items: center; gap: var(--s2); margin: 0 0 var(--s4); } .head .bar { margin: 0; } .head .pop > div { left: auto; right: 0; width: max-content; } .head .pop p { margin: 0; padding: .2rem 0; } .head > p { flex: 1 1 16rem; margin: 0; color: var(--text-2); }
.filters { display: flex; flex-wrap: wrap; align-items: center; gap: var(--s2); margin: 0 0 var(--s3); } .filters p { margin: 0; }
.chip { display: inline-flex; align-items: center; min-height: 1.75rem; max-width: 100%; border: 1px solid var(--accent-line); border-radius: var(--r1); background: var(--accent-soft); font-size: var(--t-s); overflow: hidden; }
.chip > span { padding: 0 .1rem 0 .55rem; overflow-wrap: anywhere; } .chip b { font-weight: 600; }
.chip a { display: grid; place-items: center; min-width: 1.75rem; min-height: 1.75rem; color: var(--text-2); } .chip a:hover { background: var(--accent-line); color: var(--text); }
.chip .i, .rule li .i { width: .875rem; height: .875rem; }
details.pop { position: relative; margin: 0; } details.pop > summary { list-style: none; } details.pop > summary::-webkit-details-marker { display: none; }
details.pop > div { position: absolute; z-index: 6; top: calc(100% + .35rem); left: 0; width: min(20rem, 80vw); padding: var(--s3); border: 1px solid var(--line-strong); border-radius: var(--r2); background: var(--surface); box-shadow: var(--shadow-2); }
details.pop form > p { margin: 0 0 var(--s2); } details.pop ul { display: flex; flex-wrap: wrap; gap: var(--s2); margin: 0 0 var(--s3); padding: 0; list-style: none; }
.split { display: grid; gap: var(--s4); grid-template-columns: minmax(0, 1fr); align-items: start; }
.split.open { grid-template-columns: minmax(0, 1fr) 25rem; } .split.open .wide-only { display: none; }
.split.inbox.open { grid-template-columns: 22rem minmax(0, 1fr); } .inbox .panel { max-height: none; } .inbox .panel dl { grid-template-columns: max-content minmax(0, 1fr); }
.rows.card { padding: 0; } .rows.card li { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: .15rem var(--s3); padding: .7rem var(--s4); border-bottom: 1px solid var(--line); font-size: var(--t-s); } .rows.card li:last-child { border-bottom: 0; } .rows.card li p { margin: 0; overflow-wrap: anywhere; } .rows.card li .dim { grid-column: 1 / -1; }
.rows.card code { font-weight: 600; } .rows.card .left { color: var(--text-2); font-size: var(--t-xs); white-space: nowrap; } .rows.card .urgent { color: var(--bad); font-weight: 600; } .rows.card li[aria-current] { background: var(--accent-soft); box-shadow: inset 3px 0 var(--accent); } .rows.card li:hover { background: var(--sunk); }
.rows.card li { position: relative; } .rows.card .row-link::after { content: ""; position: absolute; inset: 0; }
.halves { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 18rem), 1fr)); gap: 0 var(--s4); } .plain-list { margin: 0 0 var(--s3); padding: 0; list-style: none; font-size: var(--t-s); } .plain-list li { padding: .2rem 0; }
.panel pre { margin: 0 0 var(--s3); padding: .6rem .75rem; border: 1px solid var(--line); border-radius: var(--r1); background: var(--sunk); font-size: var(--t-s); white-space: pre-wrap; overflow-wrap: anywhere; } .panel h2 { font-size: var(--t-m); margin: var(--s4) 0 var(--s2); }
.decide .bar > button { flex: 1 1 9rem; min-height: 2.5rem; } .decide .bar { margin-bottom: var(--s2); }
.panel { position: sticky; top: 4.25rem; max-height: calc(100vh - 5.25rem); overflow-y: auto; padding: 0; margin: 0; }
.panel > header { position: sticky; top: 0; z-index: 2; display: flex; align-items: center; gap: var(--s2); min-height: 2.75rem; padding: .35rem .5rem .35rem var(--s4); border-bottom: 1px solid var(--line); border-radius: var(--r2) var(--r2) 0 0; background: var(--surface); }
.panel > header h2 { margin: 0; font-size: var(--t-m); } .panel > div { padding: var(--s4); } .panel h2:focus { outline: none; }
.button.quiet, button.quiet { border-color: transparent; background: transparent; color: var(--text-2); } .button.quiet:hover, button.quiet:hover { background: var(--sunk); color: var(--text); }
.verdict { display: flex; gap: var(--s3); margin: 0 0 var(--s4); padding: var(--s4); border: 1px solid var(--line); border-radius: var(--r2); background: var(--sunk); color: var(--text); }
.verdict .mark { display: grid; place-items: center; flex: none; width: 2.25rem; height: 2.25rem; border-radius: 50%; background: var(--surface); } .verdict p { margin: 0; color: var(--text-2); overflow-wrap: anywhere; } .verdict > div { min-width: 0; }
.verdict p.verdict-title { color: var(--text); font-size: var(--t-l); font-weight: 650; }
.verdict.bad { border-color: var(--bad-line); background: var(--bad-soft); } .verdict.bad :is(.verdict-title, .mark) { color: var(--bad); }
.verdict.good { border-color: var(--good-line); background: var(--good-soft); } .verdict.good :is(.verdict-title, .mark) { color: var(--good); }
.verdict.warn { border-color: var(--warn-line); background: var(--warn-soft); } .verdict.warn :is(.verdict-title, .mark) { color: var(--warn); }
.verdict.hold { border-color: var(--hold-line); background: var(--hold-soft); } .verdict.hold :is(.verdict-title, .mark) { color: var(--hold); }
.rule { margin: 0 0 var(--s2); border: 1px solid var(--line); border-radius: var(--r1); background: var(--surface); font-size: var(--t-s); }
.rule > summary { display: flex; align-items: center; gap: var(--s2); padding: .45rem var(--s3); color: var(--text-3); list-style: none; } .rule > summary::-webkit-details-marker { display: none; } .rule-title { overflow-wrap: anywhere; min-width: 0; } .rule .push { flex: none; font-size: var(--t-xs); }
.rule ul { margin: 0; padding: 0 var(--s3) .5rem; list-style: none; } .rule li { display: grid; grid-template-columns: 1.1rem minmax(0, 1fr); gap: .4rem; padding: .22rem 0; overflow-wrap: anywhere; } .rule li .i { margin-top: .15rem; } .rule li.no { color: var(--text-3); }
.rule.decides { border-color: var(--bad); box-shadow: 0 0 0 1px var(--bad); } .rule.decides > summary { margin-bottom: .3rem; border-radius: var(--r1) var(--r1) 0 0; background: var(--bad-soft); color: var(--text); font-weight: 600; }
.rule.decides.good { border-color: var(--good); box-shadow: 0 0 0 1px var(--good); } .rule.decides.good > summary { background: var(--good-soft); } .rule.decides.warn { border-color: var(--warn); box-shadow: 0 0 0 1px var(--warn); } .rule.decides.warn > summary { background: var(--warn-soft); }
.given { display: grid; grid-template-columns: minmax(4rem, max-content) minmax(0, 1fr); gap: .2rem var(--s3); margin: 0 0 var(--s4); padding: .6rem .75rem; border: 1px solid var(--line); border-radius: var(--r1); background: var(--sunk); font-family: var(--mono); font-size: var(--t-s); } .given dt { color: var(--text); overflow-wrap: anywhere; } .given dd { white-space: pre-wrap; }
.two { display: grid; gap: var(--s4); grid-template-columns: minmax(20rem, 5fr) minmax(0, 7fr); align-items: start; }
.seg { position: relative; display: inline-flex; flex-wrap: wrap; max-width: 100%; padding: .15rem; border-radius: .5rem; background: var(--sunk); box-shadow: inset 0 0 0 1px var(--line); } .seg input { position: absolute; opacity: 0; } .seg label { display: inline-flex; align-items: center; min-height: 1.75rem; margin: 0; padding: 0 .65rem; border-radius: var(--r1); cursor: pointer; }
.seg input:checked + label { background: var(--surface); color: var(--text); box-shadow: 0 0 0 1px var(--line-strong); } .seg input:focus-visible + label { outline: 2px solid var(--accent); outline-offset: 1px; }
.sim fieldset { margin: 0 0 var(--s4); padding: 0; border: 0; } .sim legend { margin-bottom: var(--s2); color: var(--text); font-weight: 650; } .sim p { margin: var(--s2) 0 0; } .sim .bar { margin: var(--s4) 0; } .more > summary { padding: .3rem 0; color: var(--text-2); font-size: var(--t-s); font-weight: 550; }
.sim:has(#who-known:checked) .who-imagined, .sim:has(#who-anonymous:checked) .who-imagined, .sim:has(#who-imagined:checked) .who-known, .sim:has(#who-anonymous:checked) .who-known { display: none; }
.sim:has(#message-tool:checked) .on:is(.message-method, .message-http), .sim:has(:is(#message-prompt, #message-resource):checked) .on:not(.message-prompt, .who-known, .who-imagined), .sim:has(#message-method:checked) .on:is(.message-tool, .message-http:not(.message-method)), .sim:has(#message-http:checked) .on.message-tool { display: none; }
@media (max-width: 60rem) { .two { grid-template-columns: minmax(0, 1fr); } }
mark { padding: 0 .2rem; border-radius: .2rem; background: var(--warn-soft); color: inherit; box-shadow: inset 0 -1px var(--warn-line); }
.histogram { padding-bottom: .5rem; } .histogram > h2 { margin-bottom: var(--s2); font-size: var(--t-s); } .one { max-width: 44rem; }
.words { white-space: pre-wrap; } del, ins { padding: 0 .1rem; border-radius: .2rem; text-decoration-thickness: 1px; } del { background: var(--bad-soft); color: var(--bad); } ins { background: var(--good-soft); color: var(--good); text-decoration: underline; } .notes li { color: var(--warn); font-weight: 550; }
.hint { margin: .2rem 0 var(--s3); color: var(--text-3); font-size: var(--t-xs); }
.fits { overflow: visible; } .fits table { table-layout: fixed; } .fits th, .fits td { overflow: hidden; } .fits tbody th { min-width: 0; }
.fits thead th:first-child { border-top-left-radius: var(--r2); } .fits thead th:last-child { border-top-right-radius: var(--r2); }
.fits caption { position: absolute; width: 1px; height: 1px; padding: 0; overflow: hidden; clip-path: inset(50%); }
.w-time { width: 8.5rem; } .w-outcome { width: 10.6rem; } .w-what { width: 23%; } .w-who { width: 14%; } .w-client { width: 9%; } .w-took { width: 5rem; }
.split.open .w-what { width: 27%; } .split.open .w-who { width: 14%; }
tr[aria-current] > * { background: var(--accent-soft); } tr[aria-current] > :first-child { box-shadow: inset 3px 0 var(--accent); }
tr:is(.denied, .error, .waiting, .limited) > :first-child { box-shadow: inset 3px 0 var(--c-denied); } tr.waiting > :first-child { box-shadow: inset 3px 0 var(--c-waiting); } tr.limited > :first-child { box-shadow: inset 3px 0 var(--c-limited); } tr.error > :first-child { box-shadow: inset 3px 0 var(--c-failed); }
@media (max-width: 85rem) { .client-col { display: none; } .split.open { grid-template-columns: minmax(0, 1fr) 24rem; } .split.open .user-col { display: none; } }
@media (max-width: 72rem) {
  .split.open, .split.inbox.open { grid-template-columns: minmax(0, 1fr); } .split.open:not(.auto) > .list, .split.auto > .panel, main:has(> .split.open:not(.auto)) > :is(.tabs, .filters, .head) { display: none; }
  .panel { position: static; max-height: none; }
}
:is(.panel, .one) dl { display: grid; } :is(.panel, .one) dd { margin: 0; }
@media (max-width: 47rem) {
  .fold table, .fold tbody, .fold tr, .fold th, .fold td { display: block; } .fold thead, .fold .wide-only { display: none; }
  .fold tr { position: relative; display: grid; grid-template-columns: auto minmax(0, 1fr) auto; gap: .1rem .5rem; padding: .55rem var(--s3); border-bottom: 1px solid var(--line); } .fold tr:last-child { border-bottom: 0; }
  .fold tr > * { height: auto; width: auto; padding: 0 !important; border: 0; text-align: left; } .fold tr > :first-child { box-shadow: none !important; } .fold tr:hover > *, .fold tr[aria-current] > * { background: none; } .fold tr[aria-current] { background: var(--accent-soft); }
  .fold tr:is(.denied, .error, .waiting, .limited) { box-shadow: inset 3px 0 var(--c-denied); } .fold tr.waiting { box-shadow: inset 3px 0 var(--c-waiting); } .fold tr.limited { box-shadow: inset 3px 0 var(--c-limited); } .fold tr.error { box-shadow: inset 3px 0 var(--c-failed); }
  .fold .a1 { grid-area: 1 / 1 / 2 / 3; } .fold .a2 { grid-area: 1 / 3; } .fold .b1 { grid-area: 2 / 1 / 3 / 4; } .fold .o1 { grid-area: 3 / 1; } .fold .c1 { grid-area: 3 / 2 / 4 / 4; }
  .fold .row-link::after { content: ""; position: absolute; inset: 0; }
}
@media (forced-colors: active) { .chip, .verdict .mark, .seg input:checked + label { border: 1px solid CanvasText; } .rule.decides { outline: 2px solid CanvasText; } }
@media print { .filters, .head .button { display: none; } .panel { position: static; max-height: none; } .rule:not([open]) > ul { display: block; } }
`;
