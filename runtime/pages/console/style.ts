/** The stylesheet of the console: dense tables that stay readable, in light, dark, forced colours, on paper and at 320 px. */
import { PLOT_STYLE } from "./health/plot.ts";

export const CONSOLE_STYLE = `
:root { color-scheme: light dark; --text: #1b1e22; --dim: #565d67; --page: #f4f5f7; --card: #fff; --line: #dadee4; --soft: #eef0f3; --field: #747b85; --accent: #0b57d0; --on-accent: #fff; --good: #146c2e; --good-soft: #e2f3e6; --bad: #a8201a; --bad-soft: #fce8e6; --warn: #7a4a00; --warn-soft: #fdf0d5; --plot-1: #0b57d0; --plot-2: #a8201a; --plot-3: #146c2e; --plot-4: #7a4a00; }
@media (prefers-color-scheme: dark) { :root { --text: #e4e7eb; --dim: #a5adb8; --page: #121417; --card: #1a1d21; --line: #33393f; --soft: #22262b; --field: #8b939d; --accent: #8ab4f8; --on-accent: #0e1116; --good: #86d69b; --good-soft: #17301e; --bad: #f5b5ae; --bad-soft: #3a1d1b; --warn: #f0c674; --warn-soft: #352a14; --plot-1: #8ab4f8; --plot-2: #f5b5ae; --plot-3: #86d69b; --plot-4: #f0c674; } }
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; background: var(--page); color: var(--text); font: .9375rem/1.5 system-ui, sans-serif; }
a { color: var(--accent); text-underline-offset: .15em; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: .2rem; }
.skip { position: absolute; left: -100vw; }
.skip:focus { left: 1rem; top: .5rem; z-index: 1; padding: .4rem .8rem; background: var(--card); }
.top { display: flex; flex-wrap: wrap; align-items: baseline; justify-content: space-between; gap: .1rem 1.5rem; padding: .6rem 1.25rem 0; background: var(--card); border-bottom: 1px solid var(--line); }
.top .name { margin: 0; font-weight: 600; }
.top nav { order: 1; flex: 1 0 100%; }
.top ul { display: flex; flex-wrap: wrap; gap: 0 1.1rem; margin: 0; padding: 0; list-style: none; }
.top nav a { display: inline-block; padding: .1rem 0 .5rem; border-bottom: .2rem solid transparent; color: var(--dim); text-decoration: none; }
.top nav a:hover { color: var(--text); border-color: var(--line); }
.top nav a[aria-current] { color: var(--text); border-color: var(--accent); font-weight: 600; }
.who { margin: 0; color: var(--dim); font-size: .875rem; overflow-wrap: anywhere; }
main { max-width: 96rem; margin: 0 auto; padding: 1.25rem; overflow-wrap: break-word; }
h1 { margin: 0 0 .9rem; font-size: 1.35rem; line-height: 1.25; text-wrap: balance; overflow-wrap: anywhere; }
h2 { margin: 1.6rem 0 .6rem; font-size: 1.05rem; }
h3 { margin: 1.1rem 0 .35rem; font-size: .95rem; }
p, ul, dl { margin: 0 0 .9rem; }
code, pre, .mono { font: .875em/1.5 ui-monospace, monospace; }
code, .address { overflow-wrap: anywhere; }
pre { margin: .35rem 0 .9rem; padding: .6rem .8rem; border: 1px solid var(--line); border-radius: .4rem; background: var(--soft); white-space: pre-wrap; overflow-wrap: anywhere; }
.dim, small { color: var(--dim); font-size: .875rem; }
.told, .failed, .refused { margin: 0 0 1rem; padding: .55rem .9rem; border: 1px solid var(--line); border-left: .3rem solid var(--good); border-radius: .3rem; background: var(--card); }
.failed { border-left-color: var(--warn); }
.refused { border-left-color: var(--bad); }
.card { margin: 0 0 1rem; padding: .9rem 1.1rem; border: 1px solid var(--line); border-radius: .5rem; background: var(--card); }
.card > h2:first-child, .card > h3:first-child { margin-top: 0; }
.card > :last-child { margin-bottom: 0; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 16rem), 1fr)); gap: 1rem; margin: 0 0 1rem; }
.cards > .card { margin: 0; }
.figure { display: block; font-size: 1.5rem; line-height: 1.2; font-variant-numeric: tabular-nums; }
.scroll { position: relative; margin: 0 0 1rem; overflow-x: auto; border: 1px solid var(--line); border-radius: .5rem; background: var(--card); }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { padding: .5rem .65rem; border-bottom: 1px solid var(--line); color: var(--dim); font-size: .875rem; text-align: left; }
th, td { padding: .36rem .65rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
thead th { color: var(--dim); font-size: .8125rem; font-weight: 600; white-space: nowrap; }
tbody th { font-weight: 500; }
tbody tr:last-child > * { border-bottom: 0; }
tbody tr:hover { background: var(--soft); }
.number { text-align: right; white-space: nowrap; }
.short { width: 1%; white-space: nowrap; }
td code { overflow-wrap: break-word; }
.wide { min-width: 12rem; overflow-wrap: anywhere; }
.wide code { overflow-wrap: anywhere; }
.cut { display: inline-block; max-width: 9rem; overflow: hidden; text-overflow: ellipsis; vertical-align: bottom; }
td form, td button { margin: 0; }
time { white-space: nowrap; }
dl { display: grid; grid-template-columns: minmax(7rem, max-content) minmax(0, 1fr); gap: .3rem 1.25rem; }
dt { color: var(--dim); }
dd { margin: 0; overflow-wrap: anywhere; }
dd ul { margin: 0; padding: 0; list-style: none; }
.badge { display: inline-block; padding: 0 .5rem; border: 1px solid var(--line); border-radius: 1rem; background: var(--soft); color: var(--text); font-size: .8125rem; white-space: nowrap; }
.badge.good { border-color: transparent; background: var(--good-soft); color: var(--good); }
.badge.bad { border-color: transparent; background: var(--bad-soft); color: var(--bad); }
.badge.warn { border-color: transparent; background: var(--warn-soft); color: var(--warn); }
.filter { display: flex; flex-wrap: wrap; align-items: end; gap: .6rem .8rem; margin: 0 0 1rem; }
.filter > div { min-width: 0; flex: 1 1 9rem; max-width: 12rem; }
label, legend { display: block; margin: 0 0 .15rem; color: var(--dim); font-size: .8125rem; }
fieldset { margin: 0 0 .9rem; padding: .6rem .9rem; border: 1px solid var(--line); border-radius: .4rem; }
input:not([type=hidden], [type=checkbox], [type=radio]), select, textarea { display: block; width: 100%; max-width: 100%; min-height: 2rem; padding: .3rem .55rem; border: 1px solid var(--field); border-radius: .35rem; background: var(--card); color: inherit; font: inherit; }
.filter input:not([type=hidden]), .filter select { height: 2.1rem; }
textarea { min-height: 4.5rem; }
.confirm input, .confirm select, .confirm textarea { max-width: 32rem; }
.code textarea { min-height: 14rem; max-width: none; font: .875rem/1.5 ui-monospace, monospace; }
.choice { display: flex; gap: .5rem; align-items: baseline; color: inherit; font-size: inherit; }
button, .button { display: inline-block; min-height: 2rem; margin: 0; padding: .25rem .9rem; border: 1px solid var(--field); border-radius: .35rem; background: var(--card); color: var(--text); font: inherit; text-decoration: none; cursor: pointer; }
button:hover, .button:hover { border-color: currentColor; background: var(--soft); }
button.primary, .button.primary { border-color: var(--accent); background: var(--accent); color: var(--on-accent); }
button[aria-pressed=true] { border-color: var(--accent); box-shadow: inset 0 0 0 1px var(--accent); background: var(--soft); }
button.danger { border-color: var(--bad); color: var(--bad); }
.bar { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem .9rem; margin: 0 0 1rem; }
.bar > p, .bar > .bar { margin: 0; }
.empty { padding: 1.6rem 1.1rem; border: 1px dashed var(--line); border-radius: .5rem; color: var(--dim); }
.empty p:last-child { margin: 0; }
details { margin: .25rem 0; }
summary { cursor: pointer; }
.trace, .trace ul { margin: 0; padding-left: 1.2rem; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
[hidden] { display: none; }
footer { max-width: 96rem; margin: 0 auto; padding: 0 1.25rem 1.5rem; color: var(--dim); font-size: .8125rem; }
@media (max-width: 40rem) { .top, main, footer { padding-left: .75rem; padding-right: .75rem; } .filter > div { flex: 1 1 45%; max-width: none; } th, td { padding: .35rem .6rem; } dl { display: block; } dd { margin-bottom: .5rem; } }
@media (forced-colors: active) { .badge { border-color: CanvasText; } .top nav a[aria-current] { border-color: Highlight; } }
@media (prefers-reduced-motion: no-preference) { tr.new { animation: arrive 1.5s ease-out; } @keyframes arrive { from { background: var(--soft); } } }
@media print { :root { --page: #fff; --card: #fff; --soft: #fff; --text: #000; --dim: #333; } .top nav, .filter, .bar, button, .skip, footer { display: none; } .scroll { overflow: visible; border: 0; } main { padding: 0; max-width: none; } tr { break-inside: avoid; } thead { display: table-header-group; } }
${PLOT_STYLE}`;
