/** How many upstreams routes may have, and how many places Maglev tables, one by one and all together. */
import { describe, expect, test } from "vitest";

import { formatProblem, loadSlices } from "../../../../runtime/config/load.ts";

const policy = "policy: [{ allow: { and: [{ accept: true }] } }]";
const maglev = (name: string, to: readonly string[], more = ""): string =>
  `  ${name}: { from: "https://${name}.example", to: ${JSON.stringify(to)}, load_balancing_policy: maglev${more}, ${policy} }`;
const problemsOf = (...routes: readonly string[]): readonly string[] =>
  loadSlices([{ file: "slice.yaml", text: `version: 1\nowner: team\nroutes:\n${routes.join("\n")}`, boot: false }])
    .problems.filter(({ severity }) => severity === "error")
    .map(formatProblem);

describe("Maglev tables of a bundle", () => {
  const many = (count: number, to: (index: number) => readonly string[], more = ""): readonly string[] =>
    Array.from({ length: count }, (_, index) => maglev(`r${index}`, to(index), more));

  test("1,023 of the usual size are fine, one more is refused with the wish", () => {
    const different = (index: number): readonly string[] => [`http://a${index}`, "http://b"];
    expect(problemsOf(...many(1_023, different))).toEqual([]);
    const problems = problemsOf(...many(1_024, different));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain("r1023");
    expect(problems[0]).toMatch(/above 67108864 places in all, must share upstreams or have a smaller "table_size"/);
  });

  test("those of the same upstreams count once, smaller ones less, those of one upstream not at all", () => {
    expect(
      problemsOf(...many(1_500, (index) => (index % 2 === 0 ? ["http://a", "http://b"] : ["http://b", "http://a"]))),
    ).toEqual([]);
    expect(problemsOf(...many(1_500, (index) => [`http://a${index}`]))).toEqual([]);
    const small = ", maglev_lb_config: { table_size: 1021 }";
    expect(problemsOf(...many(1_500, (index) => [`http://a${index}`, "http://b"], small))).toEqual([]);
  });

  test("upstreams are the same in every spelling that compiles to the same, with their weights", () => {
    const spellings = ["http://a", "http://a/", "http://A:80", "http://a,1"];
    expect(problemsOf(...many(1_500, (index) => [spellings[index % 4] ?? "", "http://b"]))).toEqual([]);
    expect(problemsOf(...many(1_500, (index) => [`http://a,${index + 1}`, "http://b"]))).toHaveLength(1);
  });

  test.each([
    [2, /to" has 3 upstreams, must have at most the 2 of the table/],
    [91, /is 91, must be a prime number such as 97/],
    [655_374, /is 655374, must be a whole number from 2 to 655373/],
  ])("table_size %i", (size, expected) => {
    const [problem = ""] = problemsOf(
      maglev("app", ["http://a", "http://b", "http://c"], `, maglev_lb_config: { table_size: ${size} }`),
    );
    expect(problem).toMatch(expected);
  });
});

test("a route has at most 1,000 upstreams, since each request looks at all of them", () => {
  const route = (count: number): string =>
    `  r: { from: "https://r.example", to: ${JSON.stringify(Array.from({ length: count }, (_, at) => `http://a${at}`))}, ${policy} }`;
  expect(problemsOf(route(1_000))).toEqual([]);
  expect(problemsOf(route(1_001))).toEqual([
    expect.stringContaining("has 1001 upstreams, must have at most 1000; put a balancer before them"),
  ]);
});

test("a slice has at most 50,000 upstreams, since all are looked at whenever somebody publishes", () => {
  const to = JSON.stringify(Array.from({ length: 1_000 }, (_, at) => `http://a${at}`));
  const route = (name: string): string => `  ${name}: { from: "https://${name}.example", to: ${to}, ${policy} }`;
  const routes = Array.from({ length: 50 }, (_, at) => route(`r${at}`));
  expect(problemsOf(...routes)).toEqual([]);
  expect(problemsOf(...routes, `  last: { from: "https://last.example", to: "http://a", ${policy} }`)).toEqual([
    expect.stringContaining("have 50001 upstreams, must have at most 50000 in one slice"),
  ]);
});
