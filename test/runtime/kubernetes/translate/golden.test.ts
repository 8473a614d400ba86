/** Every pair in test/golden/kubernetes: manifests above the line; below it the slice and the messages. */
import { describe, expect, test } from "vitest";

import { readManifests } from "../../../../runtime/kubernetes/translate/manifests.ts";
import { renderProblems, renderSlices } from "../../../../runtime/kubernetes/render.ts";
import { translate } from "../../../../runtime/kubernetes/translate/translate.ts";
import type { ObjectStatus } from "../../../../runtime/kubernetes/translate/gateway-api/status-parts.ts";
import { goldenPairs, type GoldenPair } from "../../../support/golden.ts";

/** A real seal is another text each time. */
async function output({ sources }: GoldenPair): Promise<string> {
  const { objects, problems } = readManifests(sources);
  if (problems.length > 0) return problems.join("\n");
  const translation = await translate(objects, {
    externalNames: true,
    addresses: [{ ip: "203.0.113.7" }],
    seal: async (_value, { namespace, name, key }) => `sealed.${namespace}.${name}.${key.replaceAll("_", "-")}`,
  });
  const statuses = translation.statuses(translation.problems).flatMap(statusLines);
  return `${renderSlices(translation, "yaml")}\n${renderProblems(translation)}${statuses.join("\n")}`.trimEnd();
}

interface Entry {
  readonly name?: string;
  readonly attachedRoutes?: number;
  readonly supportedKinds?: readonly { readonly kind: string }[];
  readonly parentRef?: object;
  readonly ancestorRef?: object;
  readonly conditions?: readonly {
    readonly type: string;
    readonly status: string;
    readonly reason: string;
    readonly message: string;
  }[];
}

/** "Gateway shop/main listener http: Accepted=True …" */
function statusLines(wanted: ObjectStatus): readonly string[] {
  const { object } = wanted;
  const status = wanted.next(undefined, "2026-11-30T12:00:00Z") as
    | (Entry & Readonly<Record<"parents" | "ancestors" | "listeners", readonly Entry[] | undefined>>)
    | undefined;
  const label = `${object.kind} ${object.metadata.namespace ?? ""}/${object.metadata.name}`;
  const own = status?.conditions ? [{ conditions: status.conditions }] : [];
  return [...own, ...(status?.listeners ?? []), ...(status?.parents ?? []), ...(status?.ancestors ?? [])].map(
    (entry: Entry) => {
      const ref = entry.parentRef ?? entry.ancestorRef;
      const kinds = entry.supportedKinds?.map(({ kind }) => kind).join("+") ?? "";
      const listener =
        entry.name === undefined ? "" : ` listener ${entry.name} [${kinds}] ${entry.attachedRoutes} routes`;
      const conditions = (entry.conditions ?? []).map(({ type, status: state, reason, message }) => {
        return `${type}=${state} ${reason}${message === "" ? "" : ` (${message})`}`;
      });
      return `${label}${listener}${ref ? ` ${JSON.stringify(ref)}` : ""}: ${conditions.join(", ")}`;
    },
  );
}

const pairs = goldenPairs("kubernetes").map((pair) => [pair.name, pair] as const);

describe("translate()", () => {
  test.each(pairs)("makes of %s what it must", async (_, pair) => {
    const text = await output(pair);

    expect(`${text}\n`).toBe(pair.update(text));
  });

  test.each(pairs)("repeats no value of a Secret of %s", async (_, pair) => {
    expect(await output(pair)).not.toMatch(/hunter2|s3cret|aHVudGVyMg/);
  });
});
