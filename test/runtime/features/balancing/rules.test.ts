/** How many upstreams a route and a slice may have. */
import { expect, test } from "vitest";

import { formatProblem, loadSlices } from "../../../../runtime/config/load.ts";

const policy = "policy: [{ allow: { and: [{ accept: true }] } }]";
const problemsOf = (...routes: readonly string[]): readonly string[] =>
  loadSlices([{ file: "slice.yaml", text: `version: 1\nowner: team\nroutes:\n${routes.join("\n")}`, boot: false }])
    .problems.filter(({ severity }) => severity === "error")
    .map(formatProblem);

test("a route has at most 1,000 upstreams, since each request scans all of them", () => {
  const route = (count: number): string =>
    `  r: { from: "https://r.example", to: ${JSON.stringify(Array.from({ length: count }, (_, at) => `http://a${at}`))}, ${policy} }`;
  expect(problemsOf(route(1_000))).toEqual([]);
  expect(problemsOf(route(1_001))).toEqual([
    expect.stringContaining("has 1001 upstreams, must have at most 1000; put a balancer before them"),
  ]);
});

test("a slice has at most 50,000 upstreams, since each publication scans all of them", () => {
  const to = JSON.stringify(Array.from({ length: 1_000 }, (_, at) => `http://a${at}`));
  const route = (name: string): string => `  ${name}: { from: "https://${name}.example", to: ${to}, ${policy} }`;
  const routes = Array.from({ length: 50 }, (_, at) => route(`r${at}`));
  expect(problemsOf(...routes)).toEqual([]);
  expect(problemsOf(...routes, `  last: { from: "https://last.example", to: "http://a", ${policy} }`)).toEqual([
    expect.stringContaining("have 50001 upstreams, must have at most 50000 in one slice"),
  ]);
});
