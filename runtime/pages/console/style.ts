/**
 * The stylesheet of the console: tokens, base, frame, controls, pieces, tables. Light, dark, forced colors, paper, 320 px.
 *
 * It is a file of its own whose address has its hash, so that browsers load it once (`console/assets.ts`).
 */
import { MATRIX_STYLE } from "./servers/matrix.ts";
import { MONOGRAM_STYLE, TOKENS } from "../tokens.ts";
import { CHART_STYLE } from "./charts/style.ts";
import { LIST_STYLE } from "./lists/style.ts";
import { OVERVIEW_STYLE } from "./overview-style.ts";

const BASE = `
*, *::before, *::after { box-sizing: border-box; }
html { scroll-padding-top: 4.5rem; -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--bg); color: var(--text); font: var(--t-m)/1.45 var(--sans); font-variant-numeric: tabular-nums; }
h1 { margin: 0 0 var(--s4); font-size: var(--t-xl); font-weight: 650; line-height: 1.25; letter-spacing: -.01em; text-wrap: balance; overflow-wrap: anywhere; }
h2 { margin: var(--s5) 0 var(--s3); font-size: var(--t-l); font-weight: 650; line-height: 1.3; }
h3 { margin: var(--s4) 0 var(--s2); font-size: var(--t-m); font-weight: 650; }
p, ul, dl { margin: 0 0 var(--s3); }
a { color: var(--accent); text-underline-offset: .18em; text-decoration-thickness: 1px; }
code, pre { font-family: var(--mono); font-size: .93em; }
code, .address { overflow-wrap: anywhere; }
pre { margin: var(--s2) 0 var(--s3); padding: .6rem .75rem; border: 1px solid var(--line); border-radius: var(--r1); background: var(--sunk); font-size: var(--t-s); line-height: 1.5; white-space: pre-wrap; overflow-wrap: anywhere; }
fieldset { margin: 0 0 var(--s3); padding: var(--s3); border: 1px solid var(--line); border-radius: var(--r1); min-width: 0; }
time { white-space: nowrap; }
.i { width: 1rem; height: 1rem; flex: none; fill: none; stroke: currentColor; stroke-width: 1.6; stroke-linecap: round; stroke-linejoin: round; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: var(--r1); }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
[hidden] { display: none; }
.skip { position: absolute; left: -100vw; }
.skip:focus { left: var(--s3); top: var(--s2); z-index: 20; padding: var(--s2) var(--s3); border-radius: var(--r1); background: var(--surface); box-shadow: var(--shadow-2); }
.dim, small { color: var(--text-2); font-size: var(--t-s); }
`;

const FRAME = `
.app { display: grid; grid-template-columns: var(--side-w) minmax(0, 1fr); min-height: 100vh; background: linear-gradient(var(--side), var(--side)) 0 / var(--side-w) 100% no-repeat, linear-gradient(var(--line), var(--line)) calc(var(--side-w) - 1px) / 1px 100% no-repeat; }
.side { position: sticky; top: 0; height: 100vh; display: flex; flex-direction: column; gap: var(--s1); padding: var(--s3); overflow-y: auto; background: var(--side); border-right: 1px solid var(--line); }
nav.side[popover] { display: flex; position: sticky; inset: 0 auto auto 0; width: auto; height: 100vh; margin: 0; border: 0; background: none; color: inherit; }
.brand { display: flex; align-items: center; gap: .6rem; padding: var(--s1) var(--s2) var(--s3); color: inherit; font-weight: 650; text-decoration: none; }
.brand svg { width: 1.5rem; height: 1.5rem; color: var(--accent); }
.brand small { display: block; color: var(--text-3); font-size: var(--t-xs); font-weight: 400; }
.side h2 { margin: 0; padding: var(--s3) var(--s2) var(--s1); color: var(--text-3); font-size: var(--t-xs); font-weight: 550; }
.side ul { margin: 0; padding: 0; list-style: none; }
.side li a { display: flex; align-items: center; gap: .6rem; min-height: 2rem; padding: .2rem var(--s2); border-radius: var(--r1); color: var(--text-2); text-decoration: none; }
.side li a:hover { background: var(--sunk); color: var(--text); }
.side li a[aria-current] { background: var(--accent-soft); color: var(--text); font-weight: 600; }
.side li a[aria-current] .i { color: var(--accent); }
.side li a { position: relative; } .side .count { margin-left: auto; }
.who { margin: auto 0 0; padding: var(--s3) var(--s2) 0; border-top: 1px solid var(--line); font-size: var(--t-s); overflow-wrap: anywhere; }
.who strong, .who .roles { display: block; font-weight: 600; } .who .roles { color: var(--text-2); font-size: var(--t-xs); font-weight: 400; } .who .roles::first-letter { text-transform: uppercase; }
.menu-bar { display: flex; position: sticky; top: 0; z-index: 5; align-items: center; gap: var(--s3); min-height: 3.25rem; padding: var(--s2) var(--s5); background: var(--bg); border-bottom: 1px solid var(--line); }
.menu-bar button { display: none; width: 2.25rem; min-height: 2.25rem; padding: 0; }
.environment { flex: none; max-width: 40%; padding: .2rem .6rem; border-radius: var(--r1); background: var(--warn-soft); color: var(--warn); font-size: var(--t-s); font-weight: 600; overflow-wrap: anywhere; }
.find { position: relative; flex: 1 1 22rem; max-width: 34rem; margin: 0; }
.find .i { position: absolute; left: .65rem; top: .56rem; color: var(--text-3); pointer-events: none; }
.find input[type=search]:not([hidden]) { padding-left: 2.1rem; padding-right: 2rem; }
.find kbd { position: absolute; right: .45rem; top: .4rem; padding: 0 .35rem; border: 1px solid var(--line-strong); border-radius: .25rem; background: var(--sunk); color: var(--text-2); font: var(--t-xs)/1.2rem var(--mono); }
::placeholder { color: var(--text-3); opacity: 1; }
.active { display: flex; align-items: center; gap: var(--s2); margin-left: auto; color: var(--text-2); font-size: var(--t-s); text-decoration: none; white-space: nowrap; }
.active:hover { text-decoration: underline; } .active .i { color: var(--good); } .active.differs .i { color: var(--warn); } .active b { color: var(--text); }
.title-bar { display: flex; flex-wrap: wrap; align-items: center; gap: var(--s2) var(--s4); margin: 0 0 var(--s4); } .title-bar > :first-child { flex: 1 1 16rem; } .title-bar h1 { margin: 0; } .title-bar p { margin: .15rem 0 0; color: var(--text-2); }
main { padding: var(--s5); max-width: 100rem; overflow-wrap: break-word; }
main:focus { outline: none; }
footer { padding: 0 var(--s5) var(--s5); color: var(--text-3); font-size: var(--t-xs); }
`;

const CONTROLS = `
button, .button { display: inline-flex; align-items: center; justify-content: center; gap: .4rem; min-height: 2rem; margin: 0; padding: .25rem .75rem; border: 1px solid var(--line-strong); border-radius: var(--r1); background: var(--surface); color: var(--text); font: 550 var(--t-s)/1.3 var(--sans); text-decoration: none; cursor: pointer; }
button:hover, .button:hover { border-color: var(--field); background: var(--sunk); }
button.primary, .button.primary { border-color: var(--accent); background: var(--accent); color: var(--on-accent); }
button.danger { border-color: var(--bad-line); color: var(--bad); }
button.danger:hover { background: var(--bad-soft); }
button[aria-pressed=true] { border-color: var(--accent); background: var(--accent-soft); }
input:not([type=hidden], [type=checkbox], [type=radio]), select, textarea { display: block; width: 100%; max-width: 100%; min-height: 2.1rem; padding: .3rem .6rem; border: 1px solid var(--field); border-radius: var(--r1); background: var(--surface); color: inherit; font: var(--t-s)/1.4 var(--sans); }
textarea { min-height: 5rem; resize: vertical; }
label, legend { display: block; margin: 0 0 .2rem; padding: 0; color: var(--text-2); font-size: var(--t-s); font-weight: 550; }
.filter { display: flex; flex-wrap: wrap; align-items: end; gap: var(--s2) var(--s3); margin: 0 0 var(--s4); }
.filter > div { min-width: 0; flex: 1 1 9rem; max-width: 15rem; }
.filter :is(input:not([type=hidden]), select) { height: 2.1rem; }
.confirm :is(input, select, textarea) { max-width: 32rem; }
.code textarea { min-height: 14rem; max-width: none; font-family: var(--mono); }
.bar { display: flex; flex-wrap: wrap; align-items: center; gap: var(--s2) var(--s3); margin: 0 0 var(--s4); }
.bar > p, .bar > .bar { margin: 0; } #live-state { min-width: 4.5rem; text-align: end; }
.tabs { display: flex; gap: var(--s4); margin: 0 0 var(--s4); border-bottom: 1px solid var(--line); overflow-x: auto; overflow-y: hidden; }
.tabs a { display: inline-flex; padding: .45rem 0 .55rem; border-bottom: 2px solid transparent; color: var(--text-2); text-decoration: none; white-space: nowrap; }
.tabs a:hover { color: var(--text); border-color: var(--line-strong); }
.tabs a[aria-current] { border-color: var(--accent); color: var(--text); font-weight: 600; }
`;

const PIECES = `
.card { margin: 0 0 var(--s4); padding: var(--s4); border: 1px solid var(--line); border-radius: var(--r2); background: var(--surface); box-shadow: var(--shadow); min-width: 0; }
.card > :is(h2, h3):first-child { margin-top: 0; }
.card > :last-child { margin-bottom: 0; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 16rem), 1fr)); gap: var(--s4); margin: 0 0 var(--s4); }
.cards > .card { margin: 0; }
.told, .failed, .refused { margin: 0 0 var(--s4); padding: .6rem var(--s3); border: 1px solid var(--good-line); border-radius: var(--r1); background: var(--good-soft); font-size: var(--t-s); }
.failed { border-color: var(--warn-line); background: var(--warn-soft); }
.refused { border-color: var(--bad-line); background: var(--bad-soft); }
.badge { display: inline-flex; align-items: center; min-height: 1.35rem; padding: 0 .5rem; border-radius: 1rem; background: var(--sunk); color: var(--text-2); font-size: var(--t-xs); font-weight: 600; white-space: nowrap; }
.badge.good { background: var(--good-soft); color: var(--good); }
.badge.bad { background: var(--bad-soft); color: var(--bad); }
.badge.warn { background: var(--warn-soft); color: var(--warn); }
.empty { margin: 0 0 var(--s4); padding: var(--s6) var(--s4); border: 1px solid var(--line); border-radius: var(--r2); background: var(--surface); text-align: center; color: var(--text-2); }
.empty p { max-width: 34rem; margin: .25rem auto 0; }
dl { display: grid; grid-template-columns: minmax(6.5rem, max-content) minmax(0, 1fr); gap: .35rem var(--s4); font-size: var(--t-s); }
dt { color: var(--text-3); }
dd { margin: 0; overflow-wrap: anywhere; }
dd ul { margin: 0; padding: 0; list-style: none; }
details { margin: .25rem 0; }
summary { cursor: pointer; }
.trace, .trace ul { margin: 0; padding-left: 1.2rem; }
`;

const TABLES = `
.scroll { position: relative; margin: 0 0 var(--s4); overflow-x: auto; border: 1px solid var(--line); border-radius: var(--r2); background: var(--surface); box-shadow: var(--shadow); }
table { width: 100%; border-collapse: separate; border-spacing: 0; font-size: var(--t-s); }
caption { padding: .6rem var(--s4); border-bottom: 1px solid var(--line); color: var(--text-2); font-size: var(--t-s); text-align: left; }
th, td { height: var(--row); padding: .3rem var(--s3); border-bottom: 1px solid var(--line); text-align: left; vertical-align: middle; }
:is(th, td):first-child { padding-left: var(--s4); }
:is(th, td):last-child { padding-right: var(--s4); }
thead th { height: 2.1rem; background: var(--sunk); color: var(--text-2); font-size: var(--t-xs); font-weight: 600; white-space: nowrap; }
tbody th { min-width: 8rem; font-weight: 500; }
tbody tr:last-child > * { border-bottom: 0; }
tbody tr:hover > * { background: var(--sunk); }
.number { text-align: right; white-space: nowrap; }
.short { width: 1%; white-space: nowrap; }
.wide { min-width: 12rem; overflow-wrap: anywhere; }
td code { overflow-wrap: break-word; }
.wide code { overflow-wrap: anywhere; }
.cut { display: inline-block; max-width: 9rem; overflow: hidden; text-overflow: ellipsis; vertical-align: bottom; }
td form, td button { margin: 0; }
`;

const NARROWER = `
@media (max-width: 99rem) { .extra { display: none; } th, td { padding-inline: .6rem; } }
@media (max-width: 72rem) {
  :root { --side-w: 5rem; }
  .side { padding: var(--s2) .375rem; } .side h2, .side .who { display: none; } .brand { justify-content: center; }
  .brand span { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .side li a { flex-direction: column; gap: .1rem; padding: .4rem .1rem; font-size: .6875rem; line-height: 1.2; text-align: center; }
  .side .count { position: absolute; top: .15rem; right: .3rem; min-width: 1.1rem; padding: 0 .2rem; font-size: .6875rem; line-height: 1.1rem; }
}
@media (max-width: 47rem) {
  .app { display: block; background: none; } .menu-bar { padding: var(--s2) var(--s3); gap: var(--s2); } .menu-bar button { display: inline-flex; } .active, .find kbd { display: none; }
  nav.side[popover] { display: none; }
  nav.side[popover]:popover-open { display: flex; position: fixed; inset: 0 auto 0 0; width: 17rem; height: auto; padding: var(--s3); background: var(--side); box-shadow: var(--shadow-2); }
  .side::backdrop { background: rgb(10 14 20 / .45); }
  .side h2, .side .who { display: block; } .brand { justify-content: flex-start; } .brand span { position: static; width: auto; height: auto; clip-path: none; }
  .side .count { position: static; } .side li a { flex-direction: row; gap: .6rem; min-height: 2.6rem; padding: .3rem var(--s3); font-size: var(--t-m); text-align: left; }
  main { padding: var(--s4) var(--s3); } footer { padding: 0 var(--s3) var(--s4); }
  caption { max-width: calc(100vw - 2 * var(--s3) - 2px); } .actions { position: sticky; right: 0; background: var(--surface); border-left: 1px solid var(--line); } thead .actions { background: var(--sunk); }
  .filter > div { flex: 1 1 45%; max-width: none; } dl { display: block; } dd { margin-bottom: .5rem; }
}
@media (forced-colors: active) { .badge { border: 1px solid CanvasText; } :is(.side li a, .tabs a)[aria-current] { outline: 2px solid Highlight; outline-offset: -2px; } }
@media (prefers-reduced-motion: no-preference) { tr.new > * { animation: arrive 1.5s ease-out; } @keyframes arrive { from { background: var(--accent-soft); } } }
@media print { :root { --bg: #fff; --surface: #fff; --sunk: #fff; --side: #fff; --text: #000; --text-2: #222; --text-3: #333; --line: #bbb; } .side, .menu-bar, .filter, .bar, .tabs, button, .skip, footer { display: none; } .app { display: block; background: none; } main { padding: 0; max-width: none; } .card, .scroll { box-shadow: none; break-inside: avoid; } .scroll { overflow: visible; border: 0; } thead { display: table-header-group; } tr { break-inside: avoid; } }
`;

export const CONSOLE_STYLE = [
  TOKENS,
  BASE,
  FRAME,
  CONTROLS,
  PIECES,
  MONOGRAM_STYLE,
  TABLES,
  CHART_STYLE,
  OVERVIEW_STYLE,
  LIST_STYLE,
  MATRIX_STYLE,
  NARROWER,
].join("");
