/** Styles of charts, next to those of the console. */
export const CHART_STYLE = `
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: var(--s4); margin: 0 0 var(--s4); }
.plots > .card { margin: 0; break-inside: avoid; }
.plot { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: .3rem .6rem; color: var(--text-3); font-size: var(--t-xs); line-height: 1; }
.plot .y { display: flex; flex-direction: column; justify-content: space-between; margin: -.375rem 0; min-width: 1.6rem; text-align: right; }
.plot .x { grid-column: 2; display: flex; justify-content: space-between; }
.chart { display: block; width: 100%; height: 11rem; overflow: visible; touch-action: pan-y; }
.chart.low { height: 4.5rem; }
.chart * { vector-effect: non-scaling-stroke; }
.chart .grid-line { stroke: var(--line); stroke-width: 1; }
.chart [class^=b-] { fill: none; stroke-width: 8; vector-effect: none; }
.chart .b-allowed { stroke: var(--c-allowed); } .chart .b-denied { stroke: var(--c-denied); } .chart .b-waiting { stroke: var(--c-waiting); }
.chart .b-limited { stroke: var(--c-limited); } .chart .b-failed { stroke: var(--c-failed); }
.chart .hit { fill: none; } .chart .hit.on { fill: var(--text); fill-opacity: .09; }
.chart .l { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
.l1 { stroke: var(--c-1); } .l2 { stroke: var(--c-2); stroke-dasharray: 6 3; } .l3 { stroke: var(--c-3); stroke-dasharray: 2 4; }
.l4 { stroke: var(--c-limited); stroke-dasharray: 10 3 2 3; } .l5 { stroke: var(--text-3); stroke-dasharray: 12 4; } .l6 { stroke: var(--text); stroke-dasharray: 4 2 1 2; }
.legend { display: flex; flex-wrap: wrap; align-items: baseline; gap: .15rem var(--s4); margin: 0 0 var(--s2); padding: 0; list-style: none; font-size: var(--t-s); }
.legend li { display: flex; align-items: center; gap: .4rem; color: var(--text-2); }
.legend b { min-width: 2ch; color: var(--text); font-weight: 600; }
.legend .at { min-width: 9rem; color: var(--text-3); }
.key { width: .7rem; height: .7rem; flex: none; border-radius: .15rem; }
.k-allowed { background: var(--c-allowed); } .k-denied { background: var(--c-denied); } .k-waiting { background: var(--c-waiting); } .k-limited { background: var(--c-limited); } .k-failed { background: var(--c-failed); }
.key:is(.l1, .l2, .l3, .l4, .l5, .l6) { width: 1.1rem; height: 0; border-radius: 0; border-top: 2px solid var(--c-1); }
.key.l2 { border-top: 2px dashed var(--c-2); } .key.l3 { border-top: 2px dotted var(--c-3); } .key.l4 { border-top: 2px dashed var(--c-limited); } .key.l5 { border-top: 2px dashed var(--text-3); } .key.l6 { border-top: 2px dotted var(--text); }
.timed .more { margin: .25rem 0 0; } .timed .more summary { width: max-content; padding: .3rem 0; color: var(--text-2); font-size: var(--t-s); font-weight: 550; }
.timed .scroll { max-height: 22rem; margin: 0; overflow: auto; box-shadow: none; }
.timed td { text-align: right; }
.timed tbody :is(th, td) { height: 1.8rem; font-weight: 400; }
.no-data { margin: 0; padding: var(--s5) 0; color: var(--text-3); font-size: var(--t-s); text-align: center; }
.spark { display: block; width: 6rem; height: 1.5rem; }
.spark path { fill: none; stroke: var(--c-1); stroke-width: 1.5; vector-effect: non-scaling-stroke; stroke-linejoin: round; }
.spark .under { fill: var(--c-allowed); stroke: none; opacity: .16; }
.spark.red path { stroke: var(--c-denied); } .spark.red .under { fill: var(--c-denied); }
.tops { margin: 0; padding: 0; list-style: none; }
.tops li { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: .1rem var(--s3); padding: .42rem var(--s4); }
.tops li:hover { background: var(--sunk); }
.tops li > a { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.tops b { font-weight: 600; }
.tops svg { display: block; grid-column: 1 / -1; width: 100%; height: .375rem; border-radius: .2rem; background: var(--sunk); }
.tops rect { fill: var(--c-denied); } .tops.blue rect { fill: var(--c-allowed); }
.tops .why { grid-column: 1 / -1; color: var(--text-3); font-size: var(--t-xs); }
@media (forced-colors: active) { :is(.chart, .spark, .tops) :is(path, rect), .key { forced-color-adjust: none; } .chart .grid-line { stroke: GrayText; } .tops svg { border: 1px solid CanvasText; } }
@media (max-width: 47rem) { .legend .at { flex-basis: 100%; } }
@media print { .timed .more { display: none; } }
`;
