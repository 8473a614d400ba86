/** Codes and messages of the log are in the reference, alerts are about metrics that exist, each fault of the soak has its row. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";

import { createGuardrailCounts } from "../../runtime/admin-listener/guardrail-series.ts";
import { createMetrics } from "../../runtime/admin-listener/metrics.ts";
import { ERROR_CODES } from "../../runtime/http/codes.ts";
import { ADMIN_CODES, MCP_DENIALS } from "../../runtime/package/pages/code-tables.ts";
import { LOG_MESSAGES } from "../../runtime/package/pages/log-messages.ts";
import { FAULTS } from "../soak/faults/faults.ts";
import { blockWith, readPage } from "../support/page-blocks.ts";
import { routeNamed, snapshotFrom } from "../support/config.ts";
import { limitSeries, traceSeries } from "../../runtime/admin-listener/part-series.ts";

const root = new URL("../../runtime/", import.meta.url).pathname;
const errors = readPage("runtime/reference/errors.md");

const sources: readonly { readonly file: string; readonly text: string }[] = readdirSync(root, { recursive: true })
  .map(String)
  .filter((file) => file.endsWith(".ts") && !/^(?:package|terraform)\//.test(file))
  .map((file) => ({ file, text: readFileSync(join(root, file), "utf8") }));

describe("codes", () => {
  const served = sources.filter(({ file }) => !file.startsWith("http/codes"));

  // That there are no others is what the types say: respondError() takes none.
  test("are all answered somewhere", () => {
    const text = served.map((each) => each.text).join("\n");
    const isAnswered = (name: string): boolean => {
      const dot = name.indexOf(".");
      const word = name.slice(dot + 1);
      // `upstream.${failure}`, where the word stands as a property or a string.
      return text.includes(`"${name}"`) || (text.includes(`\`${name.slice(0, dot)}.\${`) && hasWord(text, word));
    };
    const names = Object.keys(ERROR_CODES);
    expect(names.length).toBeGreaterThan(100);
    expect(names.filter((name) => !isAnswered(name))).toEqual([]);
    expect(isAnswered("upstream.nonsense")).toBe(false);
  });

  test("stand in the page once each", () => {
    for (const name of Object.keys(ERROR_CODES)) {
      const rows = errors
        .split("\n")
        .filter((line) => line.startsWith(`| \`${name}\` | `) && line.split(" | ").length >= 4);
      expect(rows.length, name).toBeGreaterThan(0);
    }
  });

  test("are types to whatever serves: nobody loads the table", () => {
    const loads = served.filter(({ text }) => /^import (?!type )[^;]*codes(?:\/[a-z-]+)?\.ts"/m.test(text));
    expect(loads.map(({ file }) => file)).toEqual([]);
    expect(served.filter(({ text }) => /^import type [^;]*\/codes\.ts"/m.test(text)).length).toBeGreaterThan(5);
  });

  test("of MCP denials are those in the sources", () => {
    const text = served
      .flatMap(({ file, text: source }) => (/^(?:mcp|proxy|policy)\//.test(file) ? [source] : []))
      .join("\n");
    expect(MCP_DENIALS.map(([reason]) => reason).filter((reason) => !text.includes(`"${reason}"`))).toEqual([]);
  });

  test("of the admin listener are those that it answers, with their statuses", () => {
    const answered: Record<string, Set<number>> = {};
    for (const { file, text } of sources) {
      if (!file.startsWith("admin-listener/")) continue;
      for (const [, status, name = ""] of text.matchAll(/\bjson\(\s*(\d+),\s*\{\s*error: "([a-z-]+)"/g))
        (answered[name] ??= new Set()).add(Number(status));
    }
    const told = Object.entries(ADMIN_CODES).map(([name, [statuses]]) => [name, statuses]);
    const found = Object.entries(answered).map(([name, statuses]) => [name, [...statuses].toSorted((a, b) => a - b)]);
    expect(Object.fromEntries(found)).toEqual(Object.fromEntries(told));
  });
});

function hasWord(text: string, word: string): boolean {
  return text.includes(`"${word}"`) || new RegExp(`^ +"?${word}"?: [{"]`, "m").test(text);
}

test("every warning and error of the log is told, and no other one", () => {
  const call = /\blog\.(?:warn|error)\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)/g;
  const logged = new Set<string>();
  const variable: string[] = [];
  for (const { file, text } of sources) {
    for (const [, given = ""] of text.matchAll(call)) {
      // The message is the last argument, one of two where a condition chooses.
      const last = /(?:^|,)\s*(?:[^,"]* \? "([^"]+)" : )?"([^"]+)",?\s*$/.exec(given);
      if (last) for (const message of last.slice(1)) if (message !== undefined) logged.add(message);
      if (!last) variable.push(file);
    }
  }
  // It writes what it is given.
  expect(variable).toEqual(["bundle/report.ts"]);
  const report = readFileSync(join(root, "bundle/report.ts"), "utf8");
  for (const [, message = ""] of report.matchAll(/\btell\(.*"([a-z][^"]+)"/g)) logged.add(message);

  const told = Object.values(LOG_MESSAGES).flatMap((group) => Object.keys(group));
  expect(told.length).toBeGreaterThan(50);
  expect(told.toSorted()).toEqual([...logged].toSorted());
});

describe("alerts", () => {
  const duration = z.string().regex(/^[1-9][0-9]*[smhd]$/);
  const texts = z.record(z.string().regex(/^[a-z_]+$/), z.string().min(1));
  /** What Prometheus takes: see "Alerting rules" of its documentation; anything else in it is an error there. */
  const rules = z.strictObject({
    groups: z
      .array(
        z.strictObject({
          name: z.string().min(1),
          rules: z.array(
            z.strictObject({
              alert: z.string().regex(/^[A-Z][A-Za-z]+$/),
              expr: z.string().min(1),
              for: duration.optional(),
              labels: texts,
              annotations: texts,
            }),
          ),
        }),
      )
      .length(1),
  });
  const { groups } = rules.parse(parse(blockWith(readPage("runtime/operations/alerts.md"), "yaml", "groups:")));
  const alerts = groups.flatMap((group) => group.rules);

  /** Rows of the table of metrics, which a test holds to a scrape. */
  const labels = new Map(
    [
      ...readPage("runtime/reference/metrics.md").matchAll(
        /^\| `(gateway_\w+)` \| (?:counter|gauge|histogram) \| ([^|]*) \|/gm,
      ),
    ].map(([, name = "", cells = ""]) => [name, [...cells.matchAll(/`(\w+)`/g)].map(([, label = ""]) => label)]),
  );
  const FUNCTIONS = new Set(["rate", "increase", "sum", "by"]);

  test("have names of their own", () => {
    expect(alerts.length).toBeGreaterThan(5);
    expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length);
  });

  test.each(alerts)("$alert is an expression over metrics that there are", async ({ expr, annotations }) => {
    const process = (await createMetrics().text()).match(/^# TYPE \S+/gm)?.map((line) => line.slice(7)) ?? [];
    const known = new Set([...labels.keys(), ...process, "up"]);
    const metrics = [...expr.matchAll(/(?<![\w"])[a-z]\w+(?=[{[ ])(?!\s*\()/g)]
      .map(([name]) => name)
      .filter((name) => !FUNCTIONS.has(name));
    expect(metrics.length).toBeGreaterThan(0);
    expect(metrics.filter((name) => !known.has(name))).toEqual([]);
    for (const [, name] of expr.matchAll(/([a-z_]+)\s*\(/g)) expect(FUNCTIONS).toContain(name);
    for (const [, name = "", matchers = ""] of expr.matchAll(/(gateway_\w+)\{([^}]*)\}/g))
      for (const [, label = ""] of matchers.matchAll(/(\w+)=~?"/g)) expect(labels.get(name)).toContain(label);
    for (const [, names = ""] of expr.matchAll(/by \(([^)]*)\)/g))
      for (const label of names.split(", ")) expect(labels.get(metrics[0] ?? "")).toContain(label);
    const shown = Object.values(annotations).flatMap((text) => [...text.matchAll(/\{\{ \$labels\.(\w+) \}\}/g)]);
    for (const [, label = ""] of shown)
      expect(["instance", ...metrics.flatMap((name) => labels.get(name) ?? [])]).toContain(label);
    // Nothing but a comparison of what has this shape.
    expect(expr).toMatch(/^[^<>=]+(?:\{[^}]*\}[^<>=]*)* (?:==|>) [0-9.]+$/);
    expect(count(expr, "(")).toBe(count(expr, ")"));
    expect(count(expr, "[")).toBe(count(expr, "]"));
  });

  test("ask for values of labels that the gateway writes", async () => {
    const metrics = createMetrics();
    const snapshot = snapshotFrom('routes: [{ name: "a", from: "http://a.example.com", to: "http://127.0.0.1:1" }]');
    metrics.answered(routeNamed(snapshot, "a"), 502, 1);
    metrics.answered(routeNamed(snapshot, "a"), 0, 1);
    metrics.refreshed({ of: "identity", result: "unavailable", tookMs: 1 });
    const counts = { route: "a", limit: "b", limited: 0, unavailable: 0, alone: 1 };
    metrics.register(limitSeries(() => [counts]));
    metrics.register(traceSeries(() => ({ exported: 0, dropped: 0, failed: 0 })));
    const guardrails = createGuardrailCounts(() => true);
    for (const series of guardrails.series) metrics.register(series);
    guardrails.add("a", "request", "error", 1);
    const shown = await metrics.text();
    const asked = alerts
      .flatMap(({ expr }) => [...expr.matchAll(/(?<!up\{job)=~?"([^"]+)"/g)])
      .flatMap(([, value = ""]) => value.split("|"));
    expect(asked.length).toBeGreaterThan(4);
    expect(asked.filter((value) => !shown.includes(`="${value}"`))).toEqual([]);
  });
});

function count(text: string, character: string): number {
  return text.split(character).length - 1;
}

describe("faults", () => {
  test("each fault of the soak has a row that says what users see and what to do, and each row a fault", () => {
    const section = /^## Faults\n(.*?)^## /ms.exec(readPage("runtime/operations/failure-modes.md"))?.[1] ?? "";
    const rows = section
      .split("\n")
      .filter((line) => line.startsWith("| `"))
      .map((line) => line.split("|").map((cell) => cell.trim()));
    expect(rows.map(([, name]) => name?.replaceAll("`", ""))).toEqual(FAULTS.map(({ name }) => name));
    for (const [, name = "", what = "", seen = "", lasts = "", act = ""] of rows)
      expect(
        [name, what, seen, lasts, act].every((cell) => cell.length > 2),
        name,
      ).toBe(true);
  });
});
