/**
 * The authorization server as a whole, over HTTP only: the way of a client, restarts, two users, and what never leaks.
 *
 * Labels in the issuer-*.test.ts files, from the MCP authorization chapter (2026-07-28 and earlier where stricter):
 * protected resource: R1 401 for every bad token on every method, R2 metadata readable without login, R3 `resource` equals
 * the address's own identifier, R4 challenge with resource_metadata, R5 audience checked and token not passed on, R6 no
 * token in the query, R8 no offline_access, R9 status map 401/403/400. Authorization server: A1 code with PKCE S256 only and
 * exact redirects (authorize, token), A2 metadata, A3 client ID metadata documents, A4 registration, A5 `iss`, A6 rotation
 * (refresh), A7 consent per client, A8 redirect host and loopback warning, A10 resource honoured and answers not stored,
 * A11 neither resource nor scope demanded. A9 (https) is the listener's and the configuration's.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { pino } from "pino";
import { describe, expect, onTestFinished, test } from "vitest";

import { silentLog } from "../../runtime/shared/log.ts";
import { applicationAudience } from "../../runtime/identity/external-token.ts";
import { openStore } from "../../runtime/store/open.ts";
import { createTestClock, type TestClock } from "../support/clock.ts";
import { clientProof, createPkce, REDIRECT_URI, type OAuthClient, type Registration } from "../support/oauth-client.ts";
import { findPostgres, startPostgres } from "../support/postgres.ts";
import { ORIGIN, RESOURCE, startIssuer, useIssuers } from "../support/issuer.ts";

const start = useIssuers();

/** Authorizes as the client's user and answers the form that exchanges the code. */
async function authorizedForm(oauth: OAuthClient, registration: Registration): Promise<Record<string, string>> {
  const { verifier, challenge } = createPkce();
  const outcome = await oauth.authorize({ clientId: registration.client_id, redirectUri: REDIRECT_URI, challenge });
  const code = outcome.at === "client" ? (outcome.parameters["code"] ?? "") : "";
  return {
    grant_type: "authorization_code",
    code,
    redirect_uri: REDIRECT_URI,
    code_verifier: verifier,
    ...clientProof(registration),
  };
}

describe("the whole way", () => {
  test("register, sign in, consent, tokens, refresh", async () => {
    const gateway = await start();
    const client = await gateway.signIn();
    expect(client.tokens).toMatchObject({ token_type: "Bearer", expires_in: 890, scope: "mcp" });
    const first = client.tokens;
    const second = await client.refresh();
    expect(second.access_token).not.toBe(first.access_token);
    expect(gateway.externalTokens.open(second.access_token)).toMatchObject({
      ok: true,
      claims: { kind: "grant", userId: "alice", clientId: client.registration.client_id, audience: RESOURCE },
    });
  });

  test("unknown addresses below /.gateway/mcp are 404, other methods 405", async () => {
    const { send } = await start();
    expect((await send({ method: "GET", url: `${ORIGIN}/.gateway/mcp/par` })).status).toBe(404);
    for (const name of ["token", "register", "revoke", "introspect"]) {
      const answer = await send({ method: "GET", url: `${ORIGIN}/.gateway/mcp/${name}` });
      expect([answer.status, answer.headers["allow"]]).toEqual([405, "OPTIONS, POST"]);
    }
  });
});

describe("two users of one client", () => {
  test("get grants of their own; ending one leaves the other", async () => {
    const gateway = await start();
    const alice = await gateway.signIn();
    const bob = await gateway.signIn({ userId: "bob", registration: alice.registration });
    const owner = (token: string): unknown => {
      const opened = gateway.externalTokens.open(token);
      return opened.ok && opened.claims.userId;
    };
    expect([owner(alice.tokens.access_token), owner(bob.tokens.access_token)]).toEqual(["alice", "bob"]);
    expect(owner((await bob.refresh()).access_token)).toBe("bob");
    await alice.oauth.sendRevocation({ token: alice.tokens.refresh_token ?? "", ...clientProof(alice.registration) });
    await expect(alice.refresh()).rejects.toThrow("invalid_grant");
    await expect(bob.refresh()).resolves.toBeDefined();
  });
});

describe("a restart loses nothing", () => {
  async function restart(url: string, clock: TestClock): Promise<void> {
    const open = () => openStore(url, { clock, log: silentLog() });
    const store = await open();
    const before = await startIssuer({ clock, store });
    const registration = await before.oauth().register();
    const client = await before.signIn({ registration });
    const waiting = await authorizedForm(before.oauth(), registration);
    await before.close();
    await store.close();

    const reopened = await open();
    const after = await startIssuer({ clock, store: reopened });
    try {
      const oauth = after.oauth();
      // The client, its waiting code, its grant, the consent (no page is shown again).
      expect((await oauth.sendToken(waiting)).status).toBe(200);
      const form = {
        grant_type: "refresh_token",
        refresh_token: client.tokens.refresh_token ?? "",
        ...clientProof(registration),
      };
      const refreshed = await oauth.sendToken(form);
      expect(refreshed.status).toBe(200);
      expect((await oauth.sendToken(form)).text).toBe(refreshed.text);
      const again = await oauth.authorize({
        clientId: registration.client_id,
        redirectUri: REDIRECT_URI,
        challenge: createPkce().challenge,
        decision: "look",
      });
      expect(again.at).toBe("client");
    } finally {
      await after.close();
      await reopened.close();
    }
  }

  test("on SQLite", async () => {
    const directory = await mkdtemp(join(tmpdir(), "gateform-issuer-"));
    onTestFinished(() => rm(directory, { recursive: true, force: true }));
    await restart(`sqlite:${join(directory, "gateway.db")}`, createTestClock(Date.now()));
  });

  const postgres = findPostgres();
  test.skipIf("missing" in postgres)(
    `on PostgreSQL${"missing" in postgres ? ` (skipped: ${postgres.missing})` : ""}`,
    async () => {
      if ("missing" in postgres) return;
      const server = await startPostgres(postgres.bin);
      onTestFinished(() => server.close());
      await restart(server.url, createTestClock(Date.now()));
    },
  );
});

describe("what never leaks", () => {
  test("no token, code, verifier or secret in the log, in error answers, or at rest", async () => {
    let log = "";
    const gateway = await start({ log: pino({ level: "trace" }, { write: (line: string) => void (log += line) }) });
    const client = await gateway.signIn({
      metadata: { token_endpoint_auth_method: "client_secret_post", client_name: "Leaky" },
    });
    const open = await gateway.signIn();
    const form = await authorizedForm(gateway.oauth(), open.registration);
    const secrets = [
      client.registration.client_secret,
      client.tokens.access_token,
      client.tokens.refresh_token,
      open.tokens.access_token,
      open.tokens.refresh_token,
      (await open.refresh()).refresh_token,
      form["code"],
      form["code_verifier"],
    ].filter((secret) => secret !== undefined);
    expect(secrets).toHaveLength(8);

    let answers = "";
    for (const change of [
      { code_verifier: "x".repeat(43) },
      { redirect_uri: "https://evil.example" },
      { client_secret: "gws_sentinel" },
      { grant_type: "x" },
    ]) {
      answers += (await gateway.oauth().sendToken({ ...form, ...change })).text;
    }
    await gateway.oauth().sendToken(form);
    answers += (await gateway.oauth().sendToken(form)).text;
    answers += (
      await gateway
        .oauth()
        .sendToken({ grant_type: "refresh_token", refresh_token: open.tokens.refresh_token ?? "", client_id: "x" })
    ).text;

    const tags = [...new Set(["user:alice", "clients", `client:${open.registration.client_id}`])];
    const records = await Promise.all(tags.map((tag) => gateway.store.list(tag)));
    const registration = await gateway.store.get(`client:${client.registration.client_id}`);
    const atRest = JSON.stringify([records, registration]);
    expect(atRest).toContain("grant:");
    expect(log).toContain("grant created");
    for (const secret of [...secrets, "gws_sentinel"]) {
      expect(log).not.toContain(secret);
      expect(answers).not.toContain(secret);
      expect(atRest).not.toContain(secret);
    }
  });
});

describe("every kind of token at every endpoint that takes another kind", () => {
  test("is refused", async () => {
    const gateway = await start();
    const client = await gateway.signIn();
    const form = await authorizedForm(gateway.oauth(), client.registration);
    const opened = gateway.externalTokens.open(client.tokens.access_token);
    if (!opened.ok) throw new Error(opened.reason);
    // Issued under the same grant, so that only its kind differs.
    const application = gateway.externalTokens.mint({
      ...opened.claims,
      kind: "application",
      audience: applicationAudience(ORIGIN),
    });
    const kinds = {
      access: client.tokens.access_token,
      refresh: client.tokens.refresh_token ?? "",
      code: form["code"] ?? "",
      application,
      clientId: client.registration.client_id,
    };
    const proof = clientProof(client.registration);
    for (const [kind, token] of Object.entries(kinds)) {
      if (kind !== "code") {
        const asCode = await client.oauth.sendToken({ ...form, code: token });
        expect([kind, asCode.status, asCode.json()["error"]]).toEqual([kind, 400, "invalid_grant"]);
      }
      if (kind !== "refresh") {
        const asRefresh = await client.oauth.sendToken({ grant_type: "refresh_token", refresh_token: token, ...proof });
        expect([kind, asRefresh.status, asRefresh.json()["error"]]).toEqual([kind, 400, "invalid_grant"]);
      }
      const asSecret = await client.oauth.sendToken({ ...form, client_secret: token });
      expect([kind, asSecret.status]).toEqual([kind, 401]);
    }
    // A token of an application is not the client's to revoke.
    expect((await client.oauth.sendRevocation({ token: application, ...proof })).status).toBe(200);
    await expect(client.refresh()).resolves.toBeDefined();
  });
});
