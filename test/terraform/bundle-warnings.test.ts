/** Warnings about a bundle: Terraform shows only the first of those that have the same summary. */
import { expect, test } from "vitest";

import { createRouteMemory } from "../../runtime/config/load.ts";
import { wireDiagnostic } from "../../runtime/terraform/protocol/diagnostics.ts";
import { validateBundle } from "../../runtime/terraform/resource/validate-bundle.ts";
import { foreignText } from "../../runtime/shared/json/foreign-text.ts";

test("have summaries of their own, in which nothing steers a terminal", () => {
  const server = { from: "https://a.example.com", to: ["http://up.internal"], mcp: { server: {} }, policy: "[]" };
  const names = ["a", "b", "c\u009b31m\u202ed"];
  const found = validateBundle(
    {
      owner: "team",
      runtime_flags: { mcp: true },
      route: Object.fromEntries(names.map((name, at) => [name, { ...server, from: `https://h${at}.example.com` }])),
    },
    createRouteMemory(),
  );
  const warnings = found.filter(({ severity }) => severity === "warning").map(wireDiagnostic);
  const summaries = warnings.map(({ summary }) => String(summary));
  expect(summaries.length).toBeGreaterThan(1);
  expect(new Set(summaries).size).toBe(summaries.length);
  expect(summaries[0]).toBe('Possible problem at route["a"].to[0]');
  for (const { summary, detail } of found.map(wireDiagnostic)) {
    expect(summary).toBe(foreignText(String(summary)));
    expect(String(detail)).not.toMatch(/[\u009b\u202e]/);
  }
});
