/**
 * The upstream is down (connections are cut) at each step of a connection, in a whole gateway: an error page or
 * response, never 401 or 500. No connection is lost, and everything works once it is up again.
 */
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { findForm, type Browser } from "../support/browser.ts";
import { createTestClock, type TestClock } from "../support/clock.ts";
import type { SignedInClient } from "../support/oauth-client.ts";
import { startUpstreamGateway, type UpstreamGateway } from "../support/upstream-gateway.ts";

let clock: TestClock;
let bench: UpstreamGateway;
let client: SignedInClient;
let person: Browser;

beforeEach(async () => {
  clock = createTestClock(Math.floor(Date.now() / 1000) * 1000);
  bench = await startUpstreamGateway({ clock });
  bench.service.switches.accessTokenSeconds = 120;
  client = await bench.signIn("static");
  person = client.oauth.browser;
});
afterEach(() => bench?.close());

const call = () => bench.call("static", client.tokens.access_token);
const refreshes = () => bench.service.tokenRequests.filter((form) => form.get("grant_type") === "refresh_token");
const connectUrl = (route: string): string =>
  `${bench.gateway.origin}/.gateway/mcp/connect?redirect_url=${encodeURIComponent(bench.application)}&resource=${encodeURIComponent(bench.resource(route))}`;

describe("the upstream is down", () => {
  test.each(["found", "auto"])(
    "when a flow starts with discovery (%s): the application gets the error, and it works later",
    async (route) => {
      // Known before: an upstream that never responded is not known to require anything.
      bench.service.switches.decision = "access_denied";
      await bench.connect(person, route);
      bench.service.switches.decision = "approve";
      bench.service.pause();
      const back = new URL((await person.open(connectUrl(route), bench.application)).url);
      expect(back.href.startsWith(bench.application)).toBe(true);
      expect(back.searchParams.get("connect_error")).toBe("unavailable");
      bench.service.resume();
      expect(await bench.connect(person, route)).toMatchObject({ left: true });
      expect(await bench.list(person)).toMatchObject({ [route]: true });
    },
  );

  test("when the code is exchanged: an error page, nothing is connected, and a retry connects", async () => {
    const callback = await person.open(connectUrl("found"), bench.callback);
    bench.service.pause();
    const page = await person.open(callback.url);
    expect(page.status).toBe(502);
    expect(await bench.list(person)).toMatchObject({ found: false });
    bench.service.resume();
    expect(await bench.connect(person, "found")).toMatchObject({ left: true });
    expect(await bench.list(person)).toMatchObject({ found: true });
  });

  test("when a token is refreshed: 503, the connection stays, and the old refresh token is used later", async () => {
    clock.advance(121_000);
    bench.service.pause();
    for (let count = 0; count < 3; count += 1) {
      const answer = await call();
      expect([answer.status, answer.headers["retry-after"]]).toEqual([503, "5"]);
    }
    expect(await bench.list(person)).toMatchObject({ static: true });
    bench.service.resume();
    clock.advance(3_000);
    expect((await call()).status).toBe(200);
    expect(refreshes()).toHaveLength(1);
  });

  test("in the middle of its response to a refresh: the rotated token is lost, the old token is tried once, then the challenge", async () => {
    clock.advance(121_000);
    const old = [...bench.service.refreshTokens.keys()].at(-1) ?? "";
    bench.service.switches.token = (_form, response) => {
      bench.service.refreshTokens.delete(old);
      response.writeHead(200, { "content-type": "application/json", "content-length": "500" });
      response.write('{"access_token":"');
      response.destroy();
      return true;
    };
    expect((await call()).status).toBe(503);
    bench.service.switches.token = undefined;
    clock.advance(3_000);
    const answers = [await call(), await call(), await call()];
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401]);
    expect(answers[0]?.headers["www-authenticate"]).toMatch(/^Bearer error="invalid_token", .*resource_metadata=/);
    expect(refreshes().map((form) => form.get("refresh_token"))).toEqual([old, old]);
    expect(await bench.list(person)).toMatchObject({ static: false });
  });

  test("when a user disconnects: the tokens are deleted here anyway", async () => {
    await bench.connect(person, "found");
    const page = await person.open(`${bench.gateway.origin}/.gateway/`);
    bench.service.pause();
    for (const route of ["found", "static"]) {
      const form = findForm({ ...page, text: formOf(page.text, route) }, "/.gateway/mcp/disconnect");
      if (!form) throw new Error(`no form to disconnect ${route}`);
      expect((await person.submit(page, form, {})).status).toBe(200);
    }
    bench.service.resume();
    expect(await bench.list(person)).toMatchObject({ found: false, static: false });
    expect((await call()).status).toBe(401);
  });

  test("when nothing is known about it yet: list and account page respond without waiting for it", async () => {
    bench.service.pause();
    expect(await bench.list(person)).toMatchObject({ static: true });
    expect((await person.open(`${bench.gateway.origin}/.gateway/`)).status).toBe(200);
  });
});

/** The part of the user page about one server. */
function formOf(text: string, route: string): string {
  const from = text.indexOf(`<h3>${route}</h3>`);
  return text.slice(from, text.indexOf("</article>", from));
}
