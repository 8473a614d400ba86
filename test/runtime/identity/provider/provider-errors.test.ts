/** Errors of the identity provider that only an operator can fix: the user's page, the log, and no ended session. */
import { decodeJwt, SignJWT } from "jose";
import { afterEach, describe, expect, test } from "vitest";

import { createOperatorFetch } from "../../../../runtime/http/fetch/operator-fetch.ts";
import {
  APP,
  AUTH,
  benchConfig,
  CLIENT_SECRET,
  startSessionBench,
  type SessionBench,
  type SessionBenchOptions,
} from "../../../support/session-bench.ts";

let bench: SessionBench;
afterEach(() => bench.close());

const start = async (options?: SessionBenchOptions): Promise<void> => {
  bench = await startSessionBench(options);
};
const reasonOf = (message: string): { readonly level: number; readonly reason: string } | undefined =>
  bench
    .logged()
    .split("\n")
    .filter((line) => line.includes(`"${message}"`))
    .map((line) => JSON.parse(line) as { level: number; reason: string })
    .at(-1);

/** Signs in, and expects that the user is sent to the administrator. @returns the log's reason */
async function misconfigured(): Promise<string> {
  const page = await bench.browser().signIn(`${APP}/`, "alice@example.com");
  expect(page.status).toBe(502);
  expect(page.text).toContain("sign-in.misconfigured");
  expect(page.text).not.toMatch(/in a moment|right now/);
  expect(page.headers["retry-after"]).toBeUndefined();
  const logged = reasonOf("sign-in failed");
  expect(logged?.level).toBe(50);
  expect(bench.logged()).not.toContain(CLIENT_SECRET);
  return logged?.reason ?? "";
}

const withWrongSecret = (): string => benchConfig(bench.idp.issuer).replace(CLIENT_SECRET, "another-secret");

/** The token endpoint responds with this instead. */
const answering = (status: number, body: object, headers: Record<string, string> = {}): SessionBenchOptions => {
  const fetch = createOperatorFetch();
  const answer = { status, headers: { "content-type": "application/json", ...headers } };
  return {
    fetch: async (url, init) =>
      url.endsWith("/token") ? new Response(JSON.stringify(body), answer) : fetch(url, init),
  };
};

describe("a sign-in at a provider that does not accept the gateway", () => {
  test("because of its secret", async () => {
    await start();
    bench.configure(withWrongSecret());
    expect(await misconfigured()).toMatch(
      /the provider answered 401 invalid_client: "client authentication failed"; check idp_client_id, idp_client_secret and idp_client_auth$/,
    );
  });

  test("because of a parameter of the request", async () => {
    await start({ settings: "idp_request_params: { prompt: nonsense }" });
    expect(await misconfigured()).toMatch(
      /the provider sent the browser back with invalid_request: ".*prompt.*"; check idp_request_params$/,
    );
  });

  test("because its address is wrong", async () => {
    await start();
    bench.configure(benchConfig(`${bench.idp.issuer}/realms/none`));
    const page = await bench.browser().open(`${APP}/`);
    expect([page.status, page.text.includes("sign-in.misconfigured")]).toEqual([502, true]);
    expect(reasonOf("sign-in failed")?.reason).toMatch(/\(status 404\); check idp_provider_url$/);
  });

  test("because its address is another spelling of its issuer, which is named", async () => {
    const fetch = createOperatorFetch();
    const issuer = "https://login.example.com/realms/staff";
    await start({
      fetch: async (url, init) => {
        const answer = await fetch(url, init);
        return url.endsWith("/openid-configuration")
          ? Response.json({ ...((await answer.json()) as object), issuer })
          : answer;
      },
    });
    expect((await bench.browser().open(`${APP}/`)).status).toBe(502);
    expect(reasonOf("sign-in failed")?.reason).toMatch(
      new RegExp(`: the provider's metadata have the issuer "${issuer}"; check idp_provider_url$`),
    );
  });

  test("because it signs ID tokens with the client's secret", async () => {
    const fetch = createOperatorFetch();
    await start({
      fetch: async (url, init) => {
        const answer = await fetch(url, init);
        if (!url.endsWith("/token") && !url.endsWith("/openid-configuration")) return answer;
        const body = (await answer.json()) as Record<string, unknown>;
        if (typeof body["id_token"] !== "string")
          return Response.json({ ...body, id_token_signing_alg_values_supported: ["HS256"] });
        const signed = new SignJWT(decodeJwt(body["id_token"])).setProtectedHeader({ alg: "HS256" });
        return Response.json({ ...body, id_token: await signed.sign(new TextEncoder().encode(CLIENT_SECRET)) });
      },
    });
    expect(await misconfigured()).toMatch(/set an asymmetric algorithm for its signature at the provider/);
  });

  test("with a challenge, as RFC 6749 demands: the error in the body is read all the same", async () => {
    const body = { error: "invalid_client", error_description: "Invalid client or Invalid client credentials" };
    await start(answering(401, body, { "www-authenticate": 'Basic realm="provider"' }));
    expect(await misconfigured()).toContain(
      'answered 401 invalid_client: "Invalid client or Invalid client credentials"',
    );
  });

  test("because of pushed requests, with a text that obeys no one and quotes no secret", async () => {
    const error_description = `Pushed Authorization Request is only allowed, not with ${CLIENT_SECRET}.\u001B[2J${"x ".repeat(5000)}`;
    await start(answering(400, { error: "invalid_request", error_description }));
    const reason = await misconfigured();
    expect(reason).toContain(String.raw`not with [redacted].\u001b[2J`);
    expect(reason).toMatch(/; set idp_push_requests$/);
    expect(reason.length).toBeLessThan(600);
  });
});

test.each([
  [400, "temporarily_unavailable"],
  [503, "invalid_client"],
  [429, "invalid_client"],
])("a provider response %i %s is temporary", async (status, error) => {
  await start(answering(status, { error }));
  const page = await bench.browser().signIn(`${APP}/`, "alice@example.com");
  expect([page.status, page.text.includes("sign-in.unavailable")]).toEqual([503, true]);
});

test.each([
  ["temporarily_unavailable", 503, "sign-in.unavailable"],
  ["invalid_scope", 502, "sign-in.misconfigured"],
  ["access_denied", 403, "sign-in.refused"],
])("a browser that comes back with %s", async (error, status, code) => {
  await start();
  const browser = bench.browser();
  const { hops } = await browser.open(`${APP}/`);
  const state = hops.map(({ url }) => new URL(url).searchParams.get("state")).find((each) => each !== null) ?? "";
  const query = new URLSearchParams({ error, error_description: "Said by it", state, iss: bench.idp.issuer });
  const page = await browser.open(`${AUTH}/.gateway/callback?${query.toString()}`);
  expect([page.status, page.text.includes(code)]).toEqual([status, true]);
  expect(reasonOf("sign-in failed")?.reason).toContain(`${error}: "Said by it"`);
});

test("a wrong secret signs no user out at a refresh, and the log names the setting", async () => {
  await start();
  await bench.browser().signIn(`${APP}/`, "alice@example.com");
  bench.configure(withWrongSecret());
  expect(await bench.session.identities.refresh("u-alice")).toEqual({ ok: false, reason: "unavailable" });
  expect(await bench.session.identities.find("u-alice")).toBeDefined();
  const logged = reasonOf("cannot confirm user with identity provider");
  expect(logged?.level).toBe(50);
  expect(logged?.reason).toMatch(/invalid_client: .*; check idp_client_id, idp_client_secret and idp_client_auth$/);
  bench.configure(benchConfig(bench.idp.issuer));
  bench.clock.advance(61_000);
  expect(await bench.session.identities.refresh("u-alice")).toMatchObject({ ok: true });
});

describe("a refresh that the provider answers for one user only", () => {
  const USERS = ["alice@example.com", "bob@example.com", "carol@example.com", "dave@example.com"];
  const idOf = (user: string): string => `u-${user.slice(0, user.indexOf("@"))}`;
  /** Answers of the token endpoint to refreshes; undefined: the provider's own. */
  let refusal: { readonly status: number; readonly body: object } | undefined;
  const startFor = async (users: readonly string[]): Promise<void> => {
    const fetch = createOperatorFetch();
    refusal = undefined;
    await start({
      idp: { users: users.map((email) => ({ id: idOf(email), email, name: email, groups: [] })) },
      fetch: async (url, init) => {
        const isRefresh =
          url.endsWith("/token") && new URLSearchParams(init?.body as string).get("grant_type") === "refresh_token";
        if (!isRefresh || refusal === undefined) return fetch(url, init);
        return Response.json(refusal.body, { status: refusal.status });
      },
    });
    for (const user of users) await bench.browser().signIn(`${APP}/`, user);
  };
  const refresh = (user: string) => bench.session.identities.refresh(idOf(user));
  const failed = async (user: string, status: number, error: string) => {
    refusal = { status, body: { error, error_description: "said by it" } };
    const result = await refresh(user);
    refusal = undefined;
    return result.ok ? "ok" : result.reason;
  };
  const [alice = "", bob = "", carol = "", dave = ""] = USERS;

  test("with an error that names no temporary condition ends the user's access, when it is repeated", async () => {
    await startFor([alice]);
    expect(await failed(alice, 400, "invalid_request")).toBe("unavailable");
    bench.clock.advance(30_000);
    expect(await failed(alice, 400, "invalid_request")).toBe("refused");
    expect(await bench.session.identities.find("u-alice")).toBeUndefined();
    expect(reasonOf("user rejected by identity provider, sessions and grants ended")?.reason).toContain(
      '400 invalid_request: "said by it"',
    );
    expect(bench.refreshes).toEqual(["unavailable", "refused"]);
  });

  test("with 500 ends it after `unconfirmed_user_limit`, while the provider confirms others", async () => {
    await startFor([alice, bob]);
    expect(await failed(alice, 500, "server_error")).toBe("unavailable");
    bench.clock.advance(3_599_000);
    expect(await refresh(bob)).toMatchObject({ ok: true });
    expect(await failed(alice, 500, "server_error")).toBe("unavailable");
    bench.clock.advance(1_000);
    expect(await failed(alice, 500, "server_error")).toBe("refused");
    expect(reasonOf("user not confirmed by identity provider, sessions and grants ended")?.reason).toContain(
      "status 500",
    );
    expect(bench.refreshes).toEqual(["unavailable", "ok", "unavailable", "unconfirmed"]);
  });

  test("with 500 revokes nothing while the provider confirms no user", async () => {
    await startFor([alice]);
    expect(await failed(alice, 500, "server_error")).toBe("unavailable");
    bench.clock.advance(7_200_000);
    expect(await failed(alice, 500, "server_error")).toBe("unavailable");
  });

  test("and then for many is an outage, until it confirms one of them", async () => {
    await startFor(USERS);
    const everyone = async (error: string, status = 403): Promise<string[]> => {
      const results: string[] = [];
      for (const user of USERS) results.push(await failed(user, status, error));
      bench.clock.advance(30_000);
      return results;
    };
    expect(await everyone("access_denied")).toEqual(Array(4).fill("unavailable"));
    expect(await everyone("access_denied")).toEqual(Array(4).fill("unavailable"));
    expect(reasonOf("identity provider rejects every user, treated as outage")?.level).toBe(40);
    expect(await refresh(alice)).toMatchObject({ ok: true });
    expect(await failed(bob, 400, "invalid_grant")).toBe("refused");
    expect(await failed(carol, 400, "invalid_grant")).toBe("refused");
    // A third rejection in a row without a confirmed user.
    expect(await failed(dave, 400, "invalid_grant")).toBe("unavailable");
    expect(await refresh(alice)).toMatchObject({ ok: true });
    expect(await failed(dave, 400, "invalid_grant")).toBe("refused");
  });
});

test("a provider gets pushed requests where the setting says so, and one without an endpoint for them is named", async () => {
  const fetch = createOperatorFetch();
  let hasEndpoint = true;
  await start({
    settings: "idp_push_requests: true",
    fetch: async (url, init) => {
      const answer = await fetch(url, init);
      if (hasEndpoint || !url.endsWith("/openid-configuration")) return answer;
      const { pushed_authorization_request_endpoint: _, ...rest } = (await answer.json()) as Record<string, unknown>;
      return Response.json(rest);
    },
  });
  const { hops } = await bench.browser().open(`${APP}/`);
  const asked = hops.map(({ url }) => new URL(url)).find(({ pathname }) => pathname === "/auth");
  expect([...(asked?.searchParams.keys() ?? [])].toSorted()).toEqual(["client_id", "request_uri"]);
  hasEndpoint = false;
  bench.configure(benchConfig(`${bench.idp.issuer}/`, "idp_push_requests: true"));
  expect((await bench.browser().open(`${APP}/`)).status).toBe(502);
  expect(reasonOf("sign-in failed")?.reason).toMatch(/no endpoint for it; check idp_push_requests$/);
});

test("a provider that requires pushed authorization requests gets them", async () => {
  await start({ idp: { requiresPushedRequests: true } });
  const page = await bench.browser().signIn(`${APP}/`, "alice@example.com");
  expect(page.status).toBe(200);
  expect(page.text).toContain("u-alice");
  bench.configure(withWrongSecret());
  expect((await bench.browser().open(`${APP}/`)).status).toBe(502);
  expect(reasonOf("sign-in failed")?.reason).toMatch(/^Cannot push an authorization request: .* 401 invalid_client/);
});
