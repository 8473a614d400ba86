/**
 * `npm run bench`: everything that parts/all.ts compares. Read the ratios, not the rates: CPU per request of the process tree
 * is the steady figure on a shared machine. README.md beside this file says what else there is.
 *
 *   --rounds N (7)  --seconds S (2)  --connections C (64)  --json FILE
 *   --peers bare,fastify,nginx (also haproxy, haproxy-jwt, apache-oidc, caddy; who is not installed is left out)
 *   --no-terraform  --no-http  --no-transports  --no-publish  --no-issuer  --no-upstream-oauth
 *   --terraform-5000
 *
 *   --report DIR   a report instead: DIR/report.html and report.json (rounds 7, seconds 1); --quick for a look of two minutes,
 *                  --only compare,latency,curves,memory,start
 *   --guard OLD_CHECKOUT   this checkout's CPU a request over another one's (rounds 3 of each of 18 starts, seconds 0.3); exit
 *                  code 1 where the median is above 1.05 times as much; --starts N, even; --note TEXT adds a row to the history on the page
 *   --gateways     this gateway next to others, from package registries: figures into a JSON file (rounds 5, seconds 1; less
 *                  than 25 minutes; --quick for a look of seven), --only ROWS, --works get,mcp,tool,list,sse,routes,http2,
 *                  --parts works,latency,containers; with --page nothing is measured: the page runtime/COMPARISON.md is written
 *                  from the JSON file
 *   --curves       processor time a request and memory against sizes (rounds 6, seconds 0.5; less than 6 minutes), --only
 *                  routes,rules,sessions,tools,members,streams; with --page nothing is measured: runtime/CURVES.md is written
 *   --install   the other proxies, from Debian's packages; measures nothing
 */
import { resolve } from "node:path";
import { parseArgs } from "node:util";

import { CURVES_JSON, measureAllCurves, writeCurvesPage } from "./curves/main.ts";
import { compareGateways, FIGURES, writePage } from "./gateways/main.ts";
import { runGuard } from "./guard/main.ts";
import { benchAll } from "./parts/all.ts";
import { installPeers } from "./peers/install.ts";
import { makeReport, REPORT_PARTS } from "./report/main.ts";

const PARTS = ["terraform", "http", "transports", "publish", "issuer", "upstream-oauth"] as const;

const { values } = parseArgs({
  options: {
    rounds: { type: "string" },
    seconds: { type: "string" },
    connections: { type: "string", default: "64" },
    peers: { type: "string", default: "bare,fastify,nginx" },
    json: { type: "string" },
    install: { type: "boolean", default: false },
    report: { type: "string" },
    guard: { type: "string" },
    starts: { type: "string", default: "18" },
    note: { type: "string" },
    gateways: { type: "boolean", default: false },
    works: { type: "string" },
    curves: { type: "boolean", default: false },
    parts: { type: "string" },
    page: { type: "boolean", default: false },
    quick: { type: "boolean", default: false },
    only: { type: "string" },
    "no-terraform": { type: "boolean", default: false },
    "no-http": { type: "boolean", default: false },
    "no-transports": { type: "boolean", default: false },
    "no-publish": { type: "boolean", default: false },
    "no-issuer": { type: "boolean", default: false },
    "no-upstream-oauth": { type: "boolean", default: false },
    "terraform-5000": { type: "boolean", default: false },
  },
});

const { rounds, seconds, quick: isQuick } = values;
const connections = Number(values.connections);

if (values.install) installPeers();
if (values.report !== undefined) {
  await makeReport({
    directory: resolve(values.report),
    rounds: Number(rounds ?? (isQuick ? 3 : 7)),
    durationMs: Number(seconds ?? (isQuick ? 0.25 : 1)) * 1000,
    connections,
    isQuick,
    only: values.only?.split(",") ?? REPORT_PARTS,
  });
} else if (values.gateways && values.page) {
  await writePage(values.json ?? FIGURES);
} else if (values.gateways) {
  await compareGateways({
    only: values.only?.split(","),
    works: values.works?.split(","),
    parts: values.parts?.split(","),
    rounds: Number(rounds ?? (isQuick ? 2 : 5)),
    durationMs: Number(seconds ?? (isQuick ? 0.3 : 1)) * 1000,
    isQuick,
    json: values.json ?? FIGURES,
  });
} else if (values.curves && values.page) {
  await writeCurvesPage(values.json ?? CURVES_JSON);
} else if (values.curves) {
  await measureAllCurves({
    only: values.only?.split(","),
    rounds: Number(rounds ?? (isQuick ? 3 : 6)),
    durationMs: Number(seconds ?? (isQuick ? 0.3 : 0.5)) * 1000,
    isQuick,
    json: values.json ?? CURVES_JSON,
  });
} else if (values.guard !== undefined) {
  const durationMs = Number(seconds ?? 0.3) * 1000;
  const { guard: old, note } = values;
  const starts = Number(values.starts);
  await runGuard({ old, starts, rounds: Number(rounds ?? 3), durationMs, connections, note });
  if (note !== undefined) await writeCurvesPage(CURVES_JSON);
} else if (!values.install) {
  await benchAll({
    rounds: Number(rounds ?? 7),
    durationMs: Number(seconds ?? 2) * 1000,
    connections,
    peers: values.peers.split(","),
    without: new Set(PARTS.filter((part) => values[`no-${part}`])),
    hasLargestTerraform: values["terraform-5000"],
    json: values.json,
  });
}
