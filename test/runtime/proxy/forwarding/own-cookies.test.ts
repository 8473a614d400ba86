/** Our cookies in browsers never reach an upstream, also under former names. */
import { afterAll, beforeAll, expect, test } from "vitest";

import { createCookies, type Cookies } from "../../../../runtime/identity/cookie.ts";
import { findSite } from "../../../../runtime/identity/sites.ts";
import { createKeys } from "../../../../runtime/shared/keys.ts";
import { systemClock } from "../../../../runtime/shared/clock.ts";
import { snapshotFrom } from "../../../support/config.ts";
import { startEchoUpstream, type EchoUpstream } from "../../../support/echo-upstream.ts";
import { startPipeline, type Pipeline } from "../../../support/pipeline.ts";
import { sendRaw } from "../../../support/raw-client.ts";

const before = createKeys([Buffer.alloc(32, 6)]);
const keys = createKeys([Buffer.alloc(32, 7), Buffer.alloc(32, 6)]);
let upstream: EchoUpstream;
let pipeline: Pipeline;

const yaml = () => `
cookie_name: after
routes:
  - name: open
    from: https://app.example
    to: ${upstream.origin}
    allow_public_unauthenticated_access: true
    set_request_headers: { X-Copy: "\${gateway.request.headers[\\"Cookie\\"]}" }
`;
beforeAll(async () => {
  upstream = await startEchoUpstream();
  pipeline = await startPipeline(yaml(), { keys });
});
afterAll(async () => {
  await pipeline?.close();
  await upstream?.close();
});

const valueOf = (line: string): string => /=([^;]*)/.exec(line)?.[1] ?? "";
const snapshot = snapshotFrom(
  'cookie_name: before\nroutes: [{ name: a, from: "https://app.example", response: { status: 200 }, allow_public_unauthenticated_access: true }]',
);
const site = () => findSite(snapshot, "app.example") ?? expect.unreachable();
const sealed = (cookies: Cookies): readonly string[] => [
  valueOf(
    cookies.setSession({ sessionId: "s1", userId: "u", expiresAt: 9_999_999_999 }, site(), snapshot.settings.cookie),
  ),
  valueOf(cookies.setBegun(site(), snapshot.settings.cookie, "sign_in", "abc")),
  valueOf(cookies.setBegun(site(), snapshot.settings.cookie, "provider", "abc")),
];
const cookiesOf = (of: typeof keys): Cookies => createCookies({ keys: of, clock: systemClock });

test.each([
  ["the name of a former cookie_name", (value: string) => `theirs=1; __Host-before=${value}; more=2`],
  ["quotes", (value: string) => `theirs=1; any="${value}"; more=2`],
  ["no name", (value: string) => `theirs=1; ${value}; more=2`],
  ["other text before it", (value: string) => `theirs=1; any=x.${value}; more=2`],
  ["a tab after the name", (value: string) => `theirs=1; any\t=${value}; more=2`],
  ["the same name twice", (value: string) => `theirs=1; any=${value}; any=${value}; more=2`],
  [
    "what some servers take for a cookie within a quoted one",
    (value: string) => `theirs=1; any="a, b=${value}"; more=2`,
  ],
  ["no space after the semicolon", (value: string) => `theirs=1; any=1${value};more=2`],
])("a value with our seal does not go upstream with %s, of this secret or the one before", async (_, header) => {
  for (const value of [...sealed(cookiesOf(keys)), ...sealed(cookiesOf(before))]) {
    const lines = ["GET / HTTP/1.1", "Host: app.example", `Cookie: ${header(value)}`, "Connection: close", "", ""];
    expect((await sendRaw(pipeline.port, lines.join("\r\n"))).status).toBe(200);
    const seen = upstream.seen.at(-1);
    expect(JSON.stringify(seen)).not.toContain(value);
    expect(seen?.headers["cookie"]).toBe("theirs=1; more=2");
  }
});
