/** Requests to a SCIM server from attackers and careless clients, for fast-check. */
import { Agent, request } from "node:http";

import * as fc from "fast-check";

export interface ScimMessage {
  readonly method: string;
  /** Below the address of the directory, with its query; printable ASCII. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
}

export interface RawAnswer {
  readonly status: number;
  /** Without those that differ each time: date, request ID, connection. */
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

const WORDS = [
  "userName",
  "externalId",
  "id",
  "emails",
  "emails.value",
  'emails[type eq "work"].value',
  "active",
  "name.givenName",
  "displayName",
  "members",
  'members[value eq "x"]',
  "members.value",
  "groups",
  "meta",
  "schemas",
  "password",
  "roles",
  "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User",
  "manager",
  "$ref",
  "__proto__",
  "constructor",
  "a.b.c",
  "eq",
  "and",
  "or",
  "not",
  "co",
  "pr",
  "(",
  ")",
  "[",
  "]",
  '"',
  "\\",
  '"x"',
  '"a@example.com"',
  "true",
  "null",
  "-1",
];
const OPERATORS = ["add", "Add", "replace", "Replace", "remove", "REMOVE", "move", ""];
const printable = fc.string({ unit: "grapheme-ascii", maxLength: 24 });
const word = fc.oneof(fc.constantFrom(...WORDS), printable);

const filter = fc.oneof(
  fc.array(word, { maxLength: 8 }).map((words) => words.join(" ")),
  fc
    .tuple(fc.constantFrom(...WORDS), fc.constantFrom("eq", "EQ", "co"), fc.jsonValue())
    .map(([name, operator, value]) => `${name} ${operator} ${JSON.stringify(value)}`),
);
const number = fc.oneof(fc.integer().map(String), printable);
const query = fc.oneof(
  fc
    .record(
      { filter, startIndex: number, count: number, attributes: word, excludedAttributes: word, sortBy: word },
      { requiredKeys: [] },
    )
    .map((members) => `?${new URLSearchParams(members as Record<string, string>).toString()}`),
  printable.map((text) => `?${text.replaceAll(/[^\x21-\x22\x24-\x7e]/g, "%")}`),
  fc.constant(""),
);

const value = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.array(fc.record({ value: word, type: word, primary: fc.jsonValue({ maxDepth: 1 }) }, { requiredKeys: [] }), {
    maxLength: 3,
  }),
  fc.dictionary(word, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 }),
  fc.constantFrom("False", "true", "yes", 1e308, "x".repeat(3000)),
);
const name = fc.oneof(fc.constantFrom("one", "ONE", "two"), printable, value);
const resource = fc
  .tuple(
    fc.record({ userName: name, displayName: name }, { requiredKeys: [] }),
    fc.dictionary(word, value, { maxKeys: 5 }),
  )
  .map(([names, more]) => ({ ...more, ...names }));
const patch = fc.record({
  schemas: fc.constant(["urn:ietf:params:scim:api:messages:2.0:PatchOp"]),
  Operations: fc.oneof(
    fc.array(
      fc.record(
        { op: fc.constantFrom(...OPERATORS), path: fc.oneof(word, filter, value), value },
        { requiredKeys: ["op"] },
      ),
      { maxLength: 4 },
    ),
    value,
  ),
});
const body = fc.oneof(
  { arbitrary: patch.map((each) => Buffer.from(JSON.stringify(each))), weight: 4 },
  { arbitrary: resource.map((each) => Buffer.from(JSON.stringify(each))), weight: 4 },
  { arbitrary: fc.json().map((text) => Buffer.from(text)), weight: 1 },
  // Truncated, with a byte order mark, invalid UTF-8, deep.
  {
    arbitrary: resource.map((each) => Buffer.from(JSON.stringify(each)).subarray(0, -1)),
    weight: 1,
  },
  { arbitrary: fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes)), weight: 1 },
  { arbitrary: fc.constantFrom(Buffer.from("[".repeat(20_000)), Buffer.from('{"a":'.repeat(5000))), weight: 1 },
);

const type = fc.constantFrom(
  ...Array<string>(6).fill("application/scim+json"),
  ...Array<string>(3).fill("application/json; charset=utf-8"),
  "APPLICATION/JSON",
  "text/plain",
  "",
);
const headers = fc
  .tuple(
    fc.oneof({ arbitrary: type, weight: 9 }, { arbitrary: printable, weight: 1 }),
    fc.dictionary(
      fc.constantFrom("accept", "content-encoding", "if-match", "range", "cookie", "x-http-method-override", "origin"),
      printable,
      { maxKeys: 2 },
    ),
  )
  .map(([contentType, more]) => ({ ...more, ...(contentType === "" ? {} : { "content-type": contentType }) }));

/** @param known paths of resources that there are: "/Users/0…" */
export function scimMessages(known: readonly string[]): fc.Arbitrary<ScimMessage> {
  const nobody = ["0".repeat(32), "x", "%00", "..", "a%2fb", "__proto__"].flatMap((id) => [
    `/Users/${id}`,
    `/Groups/${id}`,
  ]);
  const fixed = ["", "/", "/Schemas", "/Schemas/x", "/ResourceTypes/User", "/ServiceProviderConfig", "/Bulk", "/Me"];
  const wild = printable.map((text) => `/${text.replaceAll(/[^\x22\x24-\x3e\x40-\x7e]/g, "%")}`);
  const methods = ["GET", "POST", "PUT", "PATCH", "DELETE"];
  const at = (places: fc.Arbitrary<string>, ...usual: readonly string[]) => fc.tuple(fc.constantFrom(...usual), places);
  const target = fc.oneof(
    { arbitrary: at(fc.constantFrom("/Users", "/Groups"), "POST", "POST", "GET"), weight: 8 },
    { arbitrary: at(fc.constantFrom(...known), "PATCH", "PATCH", "PUT", "PUT", "GET", "DELETE"), weight: 8 },
    { arbitrary: at(fc.oneof(fc.constantFrom(...nobody, ...fixed), wild), ...methods), weight: 3 },
  );
  return fc
    .record({ target, query, headers, body: fc.option(body, { nil: undefined, freq: 12 }) })
    .map(({ target: [method, place], query: asked, ...rest }) => ({ ...rest, method, path: place + asked }));
}

/** Sends what is given as it is, over connections that stay open. */
export function createRawSend(port: number, host: string) {
  const agent = new Agent({ keepAlive: true });
  const send = (base: string, { method, path, headers: given, body: sent }: ScimMessage): Promise<RawAnswer> =>
    new Promise((resolve, reject) => {
      const length = sent === undefined ? {} : { "content-length": String(sent.length) };
      const outgoing = request(
        { agent, host: "127.0.0.1", port, method, path: base + path, headers: { host, ...given, ...length } },
        (incoming) => {
          const chunks: Buffer[] = [];
          incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
          incoming.on("error", reject);
          incoming.on("end", () => {
            const { date: _d, "x-request-id": _i, connection: _c, "keep-alive": _k, ...rest } = incoming.headers;
            resolve({ status: incoming.statusCode ?? 0, headers: rest, text: Buffer.concat(chunks).toString() });
          });
        },
      );
      outgoing.on("error", reject);
      outgoing.end(sent);
    });
  return { send, close: () => agent.destroy() };
}
