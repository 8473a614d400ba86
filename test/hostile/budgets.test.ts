/** Attackers who use up shared resources: requests that the gateway makes to others for them. */
import { describe, expect, test } from "vitest";

import { parseDomainPattern } from "../../runtime/settings/domains.ts";
import { createRemoteDocuments, type FetchedDocument } from "../../runtime/oauth/server/clients/remote-document.ts";
import { silentLog } from "../../runtime/shared/log.ts";
import type { IdpTokenResult } from "../../runtime/identity/provider/idp-tokens.ts";
import { createProgramCredentials } from "../../runtime/identity/tokens/program-credentials.ts";
import type { AuthResult } from "../../runtime/identity/principal.ts";
import { createTestClock } from "../support/clock.ts";
import { routeNamed, snapshotFrom } from "../support/config.ts";
import { ONE_SERVER, useIssuers } from "../support/issuer.ts";
import { createPkce, REDIRECT_URI } from "../support/oauth-client.ts";

const start = useIssuers();

describe("client documents", () => {
  function reading() {
    const clock = createTestClock();
    const fetched: string[] = [];
    const remote = createRemoteDocuments({
      clock,
      fetch: async (url): Promise<FetchedDocument> => {
        fetched.push(new URL(url).hostname);
        return { ok: false, reason: "status 404" };
      },
    });
    const allowed = ["*.example.org", "*.example.net"].map((text) => parseDomainPattern(text));
    const read = (host: string, peer: string) =>
      remote.read(`https://${host}/${fetched.length}.json`, { allowed, isValid: () => true, peer });
    return { clock, fetched, read };
  }

  test("many names under one wildcard share one budget, and other patterns keep theirs", async () => {
    const { clock, fetched, read } = reading();
    for (let index = 0; index < 200; index += 1) await read(`h${index}.example.org`, `10.0.0.${index}`);
    expect(fetched).toHaveLength(30);
    expect(await read("h.example.org", "10.1.0.1")).toMatchObject({ refusal: { error: "temporarily_unavailable" } });
    await read("h.example.net", "10.1.0.1");
    expect(fetched.at(-1)).toBe("h.example.net");
    clock.advance(1000);
    await read("h.example.org", "10.1.0.1");
    expect(fetched.at(-1)).toBe("h.example.org");
  });

  test("one peer cannot exhaust a pattern's budget, not even with a whole IPv6 network", async () => {
    for (const peerOf of [() => "203.0.113.9", (index: number) => `2001:db8:1:2::${index}`]) {
      const { clock, fetched, read } = reading();
      for (let index = 0; index < 200; index += 1) await read(`h${index}.example.org`, peerOf(index));
      expect(fetched).toHaveLength(10);
      await read("honest.example.org", "198.51.100.7");
      expect(fetched.at(-1)).toBe("honest.example.org");
      clock.advance(4000);
      await read("late.example.org", peerOf(1));
      expect(fetched.at(-1)).toBe("late.example.org");
    }
  });

  test("a few peers that exhaust their budgets leave enough for ten new ones", async () => {
    const { clock, fetched, read } = reading();
    for (let second = 0; second < 120; second += 1) {
      for (let peer = 0; peer < 8; peer += 1) await read("slow.example.org", `203.0.113.${peer}`);
      clock.advance(1000);
    }
    const before = fetched.length;
    for (let peer = 0; peer < 10; peer += 1) await read("honest.example.org", `198.51.100.${peer}`);
    expect(fetched.length - before).toBe(10);
  });

  test("named at the endpoints count against the caller", async () => {
    let fetched = 0;
    const gateway = await start({
      yaml: `mcp_allowed_client_id_domains: ["*.example.org"]\n${ONE_SERVER}`,
      fetchClientDocument: async () => ({ ok: false, reason: `status 404 for the ${(fetched += 1)}th` }),
    });
    const oauth = gateway.oauth();
    for (let index = 0; index < 8; index += 1) {
      const clientId = `https://h${index}.example.org/client.json`;
      await oauth.authorize({ clientId, redirectUri: REDIRECT_URI, challenge: createPkce().challenge });
      await oauth.sendToken({ grant_type: "refresh_token", refresh_token: "x", client_id: `${clientId}?t` });
      await oauth.sendRevocation({ token: "x", client_id: `${clientId}?r` });
    }
    expect(fetched).toBe(10);
  });
});

describe("tokens of the identity provider", () => {
  /** Questions are answered when the test says so. */
  function asking() {
    const clock = createTestClock();
    const waiting: ((result: IdpTokenResult) => void)[] = [];
    const snapshot = snapshotFrom(`
idp_provider_url: https://id.example.com
idp_client_id: gateway
routes:
  - name: api
    from: https://api.example.com
    to: http://127.0.0.1:9
    bearer_token_format: idp_access_token
    policy: [{ allow: { and: [authenticated_user: true] } }]
`);
    const credentials = createProgramCredentials({
      authenticator: { bearer: () => ({ ok: false, reason: "malformed" }) },
      idpTokens: { verify: () => new Promise((resolve) => waiting.push(resolve)) },
      snapshots: { current: () => snapshot, subscribe: () => () => {} },
      revocations: { subscribe: () => () => {}, endHere: () => {}, epoch: 0, hasChanged: () => false },
      clock,
      log: silentLog(),
    });
    const route = routeNamed(snapshot, "api");
    const present = (token: string, remoteAddress: string): AuthResult | Promise<AuthResult> | undefined => {
      const header = (name: string) => (name === "authorization" ? `Bearer ${token}` : undefined);
      return credentials.providerBearer({ header, remoteAddress, host: "api.example.com" } as never, route);
    };
    return { clock, waiting, present };
  }
  const expiresAt = 2_000_000_000;
  const good: IdpTokenResult = {
    ok: true,
    userId: "alice",
    profile: { email: "alice@example.com", name: "Alice", groups: [], claims: {} },
    expiresAt,
  } as never;

  test("invented by one peer leave room for the questions of others", async () => {
    const { waiting, present } = asking();
    for (let index = 0; index < 200; index += 1) void present(`invented-${index}`, "203.0.113.9");
    expect(waiting).toHaveLength(16);
    expect(present("one-more", "203.0.113.9")).toEqual({ ok: false, reason: "unavailable" });
    const honest = present("honest", "198.51.100.7");
    expect(waiting).toHaveLength(17);
    waiting.at(-1)?.(good);
    expect(await honest).toMatchObject({ ok: true });
    // Responses free capacity.
    for (const answer of waiting) answer({ ok: false, reason: "malformed" });
    await new Promise((resolve) => setImmediate(resolve));
    void present("later", "203.0.113.9");
    expect(waiting).toHaveLength(18);
  });

  test("invented by many peers leave room for tokens that were good before", async () => {
    const { clock, waiting, present } = asking();
    const known = present("known", "198.51.100.7");
    waiting.at(-1)?.(good);
    expect(await known).toMatchObject({ ok: true });
    for (let index = 0; index < 200; index += 1) void present(`invented-${index}`, `203.0.113.${index}`);
    expect(waiting).toHaveLength(1 + 64);
    clock.advance(61_000);
    const again = present("known", "198.51.100.7");
    expect(waiting).toHaveLength(1 + 64 + 1);
    waiting.at(-1)?.(good);
    expect(await again).toMatchObject({ ok: true });
  });
});
