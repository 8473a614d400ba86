/** Building a snapshot: gives way to requests, and compiles what is the same once. */
import { expect, test } from "vitest";

import { buildSnapshot, type BuildPace } from "../../../runtime/bundle/build/build.ts";
import { checkedFrom, secretsFrom } from "../../support/config.ts";
import type { Build, BuildInput } from "../../../runtime/bundle/build/build-types.ts";

/** @param policies one for each route, as YAML */
function inputOf(policies: readonly string[]): BuildInput {
  const routes = policies.map(
    (policy, index) =>
      `  - { name: r${index}, from: "https://r${index}.example.com", to: "http://app.internal", policy: ${policy} }`,
  );
  const { settings, routes: checked } = checkedFrom(["routes:", ...routes].join("\n"));
  const texts = checked.map(({ key, owner, name, text }) => ({ key, owner, name, text }));
  const secrets = secretsFrom({});
  return { settings, separatesOwners: false, certificates: [], routes: texts, secrets, fileOf: () => "test.yaml" };
}

async function build(input: BuildInput, pace?: BuildPace): Promise<Build> {
  const outcome = await buildSnapshot(input, undefined, pace);
  if (!outcome.ok) throw new Error(outcome.problems.map(({ message }) => message).join("\n"));
  return outcome.build;
}

test("yields after two milliseconds, however many routes there are", async () => {
  let [nowMs, turns] = [0, 0];
  const pace: BuildPace = {
    // Each look at the clock is one route later.
    nowMs: () => (nowMs += 1),
    nextTurn: async () => void (turns += 1),
  };
  const input = inputOf(Array.from({ length: 90 }, () => "[{ allow: { and: [{ accept: true }] } }]"));
  expect((await build(input, pace)).routes).toHaveLength(90);
  expect(turns).toBe(30);
});

test("shares a policy only between routes with the same one", async () => {
  const alice = "[{ allow: { or: [{ email: { is: alice@example.com } }] } }]";
  const bob = "[{ allow: { or: [{ email: { is: bob@example.com } }] } }]";
  const denied =
    "[{ allow: { or: [{ email: { is: alice@example.com } }] } }, { deny: { or: [{ groups: { has: x } }] } }]";
  const shadowed = "[{ allow: { or: [{ email: { is: alice@example.com } }] }, shadow: true }]";
  const { routes } = await build(inputOf([alice, bob, alice, denied, shadowed]));
  const [first, second, third, fourth, fifth] = routes.map(({ policy }) => policy);
  expect(third).toBe(first);
  expect(new Set([first, second, fourth, fifth]).size).toBe(4);
  expect(second?.doc).toEqual([{ allow: { or: [{ email: { is: "bob@example.com" } }] } }]);
  expect(fourth?.deny).toHaveLength(1);
  expect(fifth?.allow).toEqual([]);
});
