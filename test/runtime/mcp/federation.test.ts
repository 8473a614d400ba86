/** The pure parts of federated endpoints: names, values of messages, sessions, templates. */
import { describe, expect, test } from "vitest";

import { readMessage, writeJson } from "../../../runtime/mcp/federation/json.ts";
import { advertise, MAX_ADVERTISED_NAME, readAdvertised } from "../../../runtime/mcp/federation/names.ts";
import { createFederatedSessions } from "../../../runtime/mcp/federation/sessions.ts";
import { fitsTemplate } from "../../../runtime/mcp/federation/templates.ts";
import { createKeys } from "../../../runtime/shared/keys.ts";
import { createRandom } from "../../support/random.ts";

describe("names", () => {
  test("are injective, and readAdvertised() is the inverse of advertise(), for any names of members", () => {
    const random = createRandom(41);
    const below = (most: number): number => Math.floor(random() * most);
    const letters = ["a", "b", "_", "__", "-", "1", "é", "."];
    const text = (alphabet: readonly string[], most: number): string =>
      Array.from({ length: 1 + below(most) }, () => alphabet[below(alphabet.length)]).join("");
    const known = new Map<string, string>();
    let dropped = 0;
    for (let round = 0; round < 5_000; round += 1) {
      const prefix = text(["a", "b", "1", "a-b"], 4);
      const name = text(letters, below(8) === 0 ? 80 : 6);
      const advertised = advertise(prefix, name);
      if (advertised === undefined) {
        dropped += 1;
        expect(`${prefix}__${name}`.length).toBeGreaterThan(MAX_ADVERTISED_NAME);
        continue;
      }
      expect(readAdvertised(advertised)).toEqual({ prefix, name });
      const pair = JSON.stringify([prefix, name]);
      expect(known.get(advertised) ?? pair).toBe(pair);
      known.set(advertised, pair);
    }
    expect([known.size > 500, dropped > 50]).toEqual([true, true]);
  });

  test.each(["", "a", "a_b", "__b", "a__", `a__${"b".repeat(64)}`])("%s is not an advertised name", (text) => {
    expect(readAdvertised(text)).toBeUndefined();
  });
});

describe("messages", () => {
  test.each([
    '{"b":1,"a":[1.0,1.50,-0,1e3,12345678901234567890,0.1,"1.0"],"c":{"z":null,"y":"\\u00e9"}}',
    '{"n":1,"text":"no number that could change"}',
  ])("keep their order and their numbers: %s", (text) => {
    const message = readMessage(Buffer.from(text));
    expect(writeJson(message)).toBe(text.replace("\\u00e9", "é"));
  });

  test.each(["[]", "1", '"a"', "null", "{", '{"__proto__":{"a":1}}'])("%s is none", (text) => {
    expect(readMessage(Buffer.from(text))).toBeUndefined();
  });
});

describe("sessions", () => {
  const sessions = createFederatedSessions({ keys: createKeys([Buffer.alloc(32, 7)]) });
  const alice = { userId: "alice", clientId: "c", route: "default/all" };
  const of = (count: number, length: number) =>
    new Map(Array.from({ length: count }, (_, index) => [`m${index}`, "x".repeat(length)]));

  test("open for the same user, client and route alone", () => {
    const sealed = sessions.seal(of(2, 40), alice);
    expect(sessions.open(sealed, alice)).toEqual(of(2, 40));
    for (const other of [{ userId: "bob" }, { clientId: "d" }, { route: "default/other" }])
      expect(sessions.open(sealed, { ...alice, ...other })).toBeUndefined();
    expect(sessions.open(`${sealed.slice(0, -1)}x`, alice)).toBeUndefined();
  });

  test("are bounded: the last members are omitted", () => {
    const sealed = sessions.seal(of(50, 1_000), alice);
    expect(sealed.length).toBeLessThanOrEqual(6_144);
    expect(sessions.open(sealed, alice)).toEqual(of(4, 1_000));
  });
});

test.each([
  ["file:///{path}", "file:///a/b", 8],
  ["x://a/{b}/c", "x://a/1/c", 6],
  ["x://a/{b}/c", "x://a//c", 6],
  ["x://a/{b}/c", "x://a/c", undefined],
  ["x://a/{b}/c/{d}", "x://a/1/d/2", undefined],
  ["x://a", "x://a", 5],
  ["x://a", "x://ab", undefined],
  ["{+all}", "x://a", undefined],
  ["x{+all}", "x://a", undefined],
] as const)("template %s and %s", (template, uri, fit) => {
  expect(fitsTemplate(template, uri)).toBe(fit);
});
