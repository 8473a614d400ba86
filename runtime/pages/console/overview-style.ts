/** Styles of cards with a head, of lists in them, and of figures: Overview, Health, search. */
export const OVERVIEW_STYLE = `
.card:has(> header) { padding: 0; }
.card > header { display: flex; align-items: center; gap: var(--s2); min-height: 2.75rem; padding: .45rem var(--s4); border-bottom: 1px solid var(--line); }
.card > header :is(h2, h3) { margin: 0; font-size: var(--t-m); }
.card > header .small { color: var(--text-2); font-size: var(--t-s); }
.card > header > a:last-child { margin-left: auto; font-size: var(--t-s); white-space: nowrap; }
.card > .in { padding: var(--s4); }
.card > .failed { margin: var(--s4); }
.grid { display: grid; grid-template-columns: repeat(12, minmax(0, 1fr)); gap: var(--s4); margin: 0 0 var(--s4); }
.grid > .card { margin: 0; } .card > .scroll :is(th, td):not(:first-child) { padding-inline: .5rem; } .card > .scroll { margin: 0; border: 0; border-radius: 0 0 var(--r2) var(--r2); box-shadow: none; } .c4 { grid-column: span 4; } .c5 { grid-column: span 5; } .c7 { grid-column: span 7; } .c6 { grid-column: span 6; } .c8 { grid-column: span 8; } .c12 { grid-column: span 12; }
.plain { color: inherit; text-decoration: none; } .plain:hover { text-decoration: underline; }
.count { min-width: 1.4rem; padding: 0 .4rem; border-radius: 1rem; background: var(--sunk); color: var(--text-2); font-size: var(--t-xs); font-weight: 600; line-height: 1.25rem; text-align: center; }
.count.attn { background: var(--warn-soft); color: var(--warn); } .count.alarm { background: var(--bad-soft); color: var(--bad); }
.rows { margin: 0; padding: 0; list-style: none; }
.rows > li { position: relative; display: flex; align-items: center; gap: var(--s3); min-height: 2.75rem; padding: .5rem var(--s4); border-bottom: 1px solid var(--line); }
.rows > li:last-child { border-bottom: 0; } .rows > li:hover { background: var(--sunk); }
.rows h3 { margin: 0; font-size: var(--t-s); overflow-wrap: anywhere; } .rows p { margin: 0; color: var(--text-2); font-size: var(--t-s); overflow-wrap: anywhere; }
.rows .button { white-space: nowrap; }
.grow { flex: 1 1 0; min-width: 0; }
.since, .left { flex: none; color: var(--text-3); font-size: var(--t-s); } .left { color: var(--warn); white-space: nowrap; }
.mark { display: grid; place-items: center; flex: none; width: 1.75rem; height: 1.75rem; border-radius: 50%; background: var(--sunk); color: var(--text-2); }
.mark.bad { background: var(--bad-soft); color: var(--bad); } .mark.warn { background: var(--warn-soft); color: var(--warn); } .mark.good { background: var(--good-soft); color: var(--good); }
.none { margin: 0; padding: var(--s5) var(--s4); color: var(--text-2); font-size: var(--t-s); text-align: center; } .none p { margin: .25rem 0 0; } .none .i { width: 1.5rem; height: 1.5rem; color: var(--good); }
.note-below { margin: 0; padding: .3rem var(--s4) .6rem; color: var(--text-3); font-size: var(--t-xs); }
.figures { display: grid; grid-template-columns: repeat(4, minmax(0, 1fr)); gap: var(--s4); margin: 0 0 var(--s4); }
.figure { position: relative; display: block; margin: 0; padding: var(--s3) var(--s4) .7rem; color: inherit; text-decoration: none; } .figure:hover { border-color: var(--line-strong); }
.figure > span { display: block; } .figure .name { color: var(--text-2); font-size: var(--t-s); font-weight: 500; } .figure .text { color: var(--text-2); font-size: var(--t-s); }
.figure .value { margin: .1rem 0; font-size: 1.625rem; font-weight: 650; line-height: 1.2; letter-spacing: -.02em; } .figure .value small { font-size: var(--t-m); font-weight: 500; letter-spacing: 0; }
.figure .spark { position: absolute; right: var(--s4); top: .7rem; width: 36%; height: 1.4rem; }
.segments { display: inline-flex; flex-wrap: wrap; padding: .15rem; border-radius: .5rem; background: var(--sunk); box-shadow: inset 0 0 0 1px var(--line); }
.segments a { display: inline-flex; align-items: center; min-height: 1.75rem; padding: 0 .65rem; border-radius: var(--r1); color: var(--text-2); font-size: var(--t-s); font-weight: 550; text-decoration: none; } .segments a:hover { color: var(--text); }
.segments a[aria-current] { background: var(--surface); color: var(--text); box-shadow: 0 0 0 1px var(--line-strong); }
@media (max-width: 72rem) { .c4 { grid-column: span 6; } .c5, .c7 { grid-column: 1 / -1; } .c8, .c4:last-child:nth-child(odd) { grid-column: 1 / -1; } .figures { grid-template-columns: repeat(2, minmax(0, 1fr)); } .rows .since { display: none; } }
@media (max-width: 47rem) {
  .grid > * { grid-column: 1 / -1 !important; } .figures { gap: var(--s2); } .figure { padding: .6rem var(--s3); } .figure .spark { display: none; } .figure .value { font-size: 1.375rem; }
  .rows .button { display: none; } .rows h3 a::after { content: ""; position: absolute; inset: 0; }
}
@media (forced-colors: active) { .mark, .count, .segments a[aria-current] { border: 1px solid CanvasText; } }
@media print { .segments, .rows .button { display: none; } }
`;
