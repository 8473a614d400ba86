/** The stylesheet of users' pages. It is inside each page, since an error page must not need another request. */
import { MONOGRAM_STYLE, TOKENS } from "./tokens.ts";

const BASE = `
*, *::before, *::after { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--bg); color: var(--text); font: var(--t-m)/1.5 var(--sans); overflow-wrap: break-word; }
h1 { margin: 0 0 var(--s3); font-size: 1.375rem; font-weight: 650; line-height: 1.25; letter-spacing: -.01em; text-wrap: balance; overflow-wrap: anywhere; }
h2 { margin: var(--s5) 0 var(--s2); font-size: var(--t-m); font-weight: 650; line-height: 1.3; }
h3 { margin: var(--s4) 0 var(--s1); font-size: var(--t-m); font-weight: 650; }
p, ul, dl { margin: 0 0 var(--s4); }
ul { padding-left: 1.2rem; }
dl { display: grid; grid-template-columns: minmax(6.5rem, max-content) minmax(0, 1fr); gap: .35rem var(--s4); font-size: var(--t-s); }
dt { color: var(--text-3); }
dd { margin: 0; overflow-wrap: anywhere; }
dd ul { margin: 0; padding: 0; list-style: none; }
a { color: var(--accent); text-underline-offset: .18em; text-decoration-thickness: 1px; }
code, .address { overflow-wrap: anywhere; }
code, pre { font-family: var(--mono); font-size: .93em; }
pre { margin: var(--s2) 0 var(--s4); padding: .6rem .75rem; border: 1px solid var(--line); border-radius: var(--r1); background: var(--sunk); font-size: var(--t-s); line-height: 1.5; white-space: pre-wrap; overflow-wrap: anywhere; user-select: all; }
pre bdi { border-radius: .2rem; background: var(--line); }
form { margin: 0; }
label { display: block; margin: 0 0 .25rem; color: var(--text-2); font-size: var(--t-s); font-weight: 550; }
input:not([type=hidden]) { display: block; width: 100%; min-height: 2.25rem; padding: .35rem .7rem; border: 1px solid var(--field); border-radius: var(--r1); background: var(--surface); color: inherit; font: inherit; }
button, .button { display: inline-flex; align-items: center; justify-content: center; gap: .4rem; min-height: 2.5rem; padding: .4rem 1.1rem; border: 1px solid var(--line-strong); border-radius: var(--r1); background: var(--surface); color: var(--text); font: 550 var(--t-m)/1.3 var(--sans); text-decoration: none; text-align: center; cursor: pointer; }
button:hover, .button:hover { border-color: var(--field); background: var(--sunk); }
:is(button, .button).primary { border-color: var(--accent); background: var(--accent); color: var(--on-accent); }
button:disabled { color: var(--text-3); cursor: default; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: var(--r1); }
[role=status]:empty { margin: 0; }
details { margin: var(--s1) 0; }
summary { padding: .3rem 0; color: var(--text-2); font-size: var(--t-s); font-weight: 550; cursor: pointer; }
.i { width: 1rem; height: 1rem; flex: none; fill: none; stroke: currentColor; stroke-width: 1.6; stroke-linecap: round; stroke-linejoin: round; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.skip { position: absolute; left: -100vw; }
.skip:focus { left: var(--s3); top: var(--s2); z-index: 20; padding: var(--s2) var(--s3); border-radius: var(--r1); background: var(--surface); box-shadow: var(--shadow-2); }
.dim { color: var(--text-2); font-size: var(--t-s); }
.good { color: var(--good); } .bad { color: var(--bad); } .warn { color: var(--warn); }
`;

const PIECES = `
.brand { display: inline-flex; align-items: center; gap: .6rem; color: inherit; font-weight: 650; text-decoration: none; }
.brand .i { width: 1.5rem; height: 1.5rem; color: var(--accent); }
.one { display: grid; grid-template-columns: minmax(0, 34rem); justify-content: center; gap: var(--s4); padding: var(--s5) var(--s4); }
.one .brand { justify-content: center; padding-top: var(--s4); }
.card { border: 1px solid var(--line); border-radius: var(--r2); background: var(--surface); box-shadow: var(--shadow); min-width: 0; }
.in { padding: var(--s5); }
.in > :last-child, dd > :last-child, nav > :last-child, .note > :last-child > :last-child { margin-bottom: 0; }
.actions { display: flex; flex-wrap: wrap; gap: var(--s2); margin: 0 0 var(--s4); }
.actions > :is(button, .button) { flex: 1 1 9rem; }
.mark { display: grid; place-items: center; width: 2.75rem; height: 2.75rem; flex: none; margin: 0 0 var(--s4); border-radius: 50%; background: var(--sunk); color: var(--text-2); }
.mark .i { width: 1.35rem; height: 1.35rem; }
.mark.bad { background: var(--bad-soft); color: var(--bad); } .mark.warn { background: var(--warn-soft); color: var(--warn); } .mark.good { background: var(--good-soft); color: var(--good); } .mark.info { background: var(--accent-soft); color: var(--accent); }
.pair { display: flex; align-items: center; gap: var(--s3); margin: 0 0 var(--s4); color: var(--text-3); }
.badge { display: inline-flex; align-items: center; gap: .3rem; min-height: 1.35rem; padding: 0 .5rem; border-radius: 1rem; background: var(--sunk); color: var(--text-2); font-size: var(--t-xs); font-weight: 600; }
.badge .i { width: .8rem; height: .8rem; stroke-width: 2; }
.badge.good { background: var(--good-soft); color: var(--good); } .badge.warn { background: var(--warn-soft); color: var(--warn); }
.can { padding: 0; list-style: none; }
.can li { display: grid; grid-template-columns: 1.25rem minmax(0, 1fr); gap: .5rem; padding: .3rem 0; }
.can .i { margin-top: .2rem; }
.note { display: flex; gap: .6rem; margin: 0 0 var(--s4); padding: .6rem var(--s3); border: 1px solid var(--warn-line); border-radius: var(--r1); background: var(--warn-soft); font-size: var(--t-s); }
.note > .i { margin-top: .15rem; color: var(--warn); } .note > :last-child { min-width: 0; margin: 0; }
.ref { padding: var(--s4) var(--s5); border-top: 1px solid var(--line); border-radius: 0 0 var(--r2) var(--r2); background: var(--sunk); color: var(--text-2); font-size: var(--t-xs); }
.ref dl { margin: 0 0 var(--s2); } .ref p { margin: 0; }
.person-bar { display: flex; align-items: center; gap: var(--s4); min-height: 3.5rem; padding: var(--s2) var(--s5); background: var(--surface); border-bottom: 1px solid var(--line); }
.find { position: relative; flex: 1 1 22rem; max-width: 34rem; }
.find .i { position: absolute; left: .65rem; top: .62rem; color: var(--text-3); }
.find input:not([type=hidden]) { padding-left: 2.1rem; font-size: var(--t-s); }
.me { display: flex; align-items: center; gap: var(--s2); margin-left: auto; min-width: 0; font-size: var(--t-s); }
.me button { min-height: 2rem; padding: .25rem .75rem; font-size: var(--t-s); white-space: nowrap; }
.me .name { overflow: hidden; max-width: 14rem; text-overflow: ellipsis; white-space: nowrap; font-weight: 600; }
.person { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: var(--s4); align-items: start; max-width: 72rem; margin: 0 auto; padding: var(--s5); }
.person:focus { outline: none; }
.person :is(h1, h2, h3) { margin: 0; } .person h1 + p { margin: 0; } .person h2 { font-size: var(--t-m); } .person h3 { font-size: var(--t-s); }
.person :is(button, .button) { min-height: 2rem; padding: .25rem .75rem; font-size: var(--t-s); }
.person .actions.few > .button { flex: 0 0 auto; }
:is(.me, .rows, .app) .primary { flex: none; }
.wide { grid-column: 1 / -1; }
.card > header { display: flex; align-items: center; gap: var(--s2); min-height: 2.75rem; padding: .45rem var(--s4); border-bottom: 1px solid var(--line); }
.card > header .end { margin-left: auto; font-size: var(--t-s); }
.person .card.in, .person .card > .in { padding: var(--s4); margin: 0; }
.line { display: flex; align-items: center; gap: var(--s2); }
.foot { margin: 0; padding: .6rem var(--s4); border-top: 1px solid var(--line); font-size: var(--t-s); }
:is(.foot, .link) a { display: inline-flex; align-items: center; min-height: 1.5rem; }
.rows { margin: 0; padding: 0; list-style: none; }
.rows > li { display: flex; align-items: center; gap: var(--s3); padding: .6rem var(--s4); border-bottom: 1px solid var(--line); }
.rows > li:last-child { border-bottom: 0; }
.rows > li > div { flex: 1 1 0; min-width: 0; } .rows p { margin: 0; }
.rows .mark { width: 1.75rem; height: 1.75rem; margin: 0; align-self: flex-start; } .rows .mark .i { width: 1rem; height: 1rem; }
.head { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: var(--s2); margin: 0 0 var(--s3); }
.seg { display: inline-flex; flex-wrap: wrap; padding: .15rem; border-radius: .5rem; background: var(--sunk); box-shadow: inset 0 0 0 1px var(--line); }
.seg a { display: inline-flex; align-items: center; min-height: 1.75rem; padding: 0 .65rem; border-radius: var(--r1); color: var(--text-2); font-size: var(--t-s); font-weight: 550; text-decoration: none; }
.seg a:hover { color: var(--text); } .seg a[aria-current] { background: var(--surface); color: var(--text); box-shadow: 0 0 0 1px var(--line-strong); }
.apps { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 20rem), 1fr)); gap: var(--s3); margin: 0; padding: 0; list-style: none; }
.app { display: flex; flex-direction: column; gap: var(--s3); padding: var(--s4); }
.app p { margin: 0; } .app h3 { font-size: var(--t-m); } .quiet { color: var(--text-3); }
.named { display: flex; gap: var(--s3); } .named > :last-child { min-width: 0; }
.state { display: flex; flex-wrap: wrap; align-items: center; gap: var(--s2); margin-top: auto; font-size: var(--t-s); } .state > .out { display: flex; align-items: center; gap: .4rem; margin-right: auto; }
.state .i { width: .95rem; height: .95rem; }
@media (max-width: 60rem) { .person { grid-template-columns: minmax(0, 1fr); } }
@media (max-width: 47rem) { .person { padding: var(--s3); } .person-bar { flex-wrap: wrap; padding: var(--s2) var(--s3); } .find { order: 3; flex-basis: 100%; } .me button { min-height: 2rem; padding: .25rem .75rem; font-size: var(--t-s); white-space: nowrap; }
.me .name { display: none; } .rows > li { flex-wrap: wrap; } .rows > li > div { flex-basis: 12rem; } }
@media (max-width: 47rem) { .one { padding: var(--s3); } .one .brand { padding-top: var(--s2); } .in, .ref { padding: var(--s4); } }
@media (forced-colors: active) { :is(.badge, .mark, .seg a[aria-current]) { border: 1px solid CanvasText; } }
@media print { :root { --bg: #fff; --surface: #fff; --sunk: #fff; } .card { box-shadow: none; } }
`;

export const PAGE_STYLE = [TOKENS, BASE, PIECES, MONOGRAM_STYLE].join("");
