/** Behavior of other providers: unknown scopes, failing endpoints, changed keys. */
import { afterEach, describe, expect, it } from "vitest";

import { startIdentityProvider, type IdentityProvider } from "../../../../examples/demo/identity-provider.ts";
import { evaluate } from "../../../../runtime/policy/evaluate.ts";
import { snapshotFrom } from "../../../support/config.ts";
import {
  APP,
  AUTH,
  CLIENT_SECRET,
  benchConfig,
  startSessionBench,
  type SessionBench,
} from "../../../support/session-bench.ts";

let bench: SessionBench;
let successor: IdentityProvider | undefined;
afterEach(async () => {
  await bench.close();
  await successor?.close();
  successor = undefined;
});

/** The scopes with which a browser is sent to the provider. */
async function scopesAsked(settings = ""): Promise<readonly string[]> {
  if (settings !== "") bench.configure(benchConfig(bench.idp.issuer, settings));
  const page = await bench.browser().open(`${APP}/`);
  const asked = page.hops.map(({ url }) => new URL(url)).find(({ pathname }) => pathname === "/auth");
  return asked?.searchParams.get("scope")?.split(" ") ?? [];
}

describe("offline_access", () => {
  it("is requested if the provider's metadata lists it", async () => {
    bench = await startSessionBench({ idp: { scopesSupported: ["openid", "offline_access"] } });
    expect(await scopesAsked()).toEqual(["openid", "profile", "email", "offline_access"]);
  });

  it("is requested if the metadata lists no scopes", async () => {
    bench = await startSessionBench({ idp: { scopesSupported: null } });
    expect(await scopesAsked()).toEqual(["openid", "profile", "email", "offline_access"]);
  });

  it("is not requested if the metadata lists scopes without it, as at Google", async () => {
    bench = await startSessionBench({ idp: { scopesSupported: ["openid", "email", "profile"] } });
    expect(await scopesAsked()).toEqual(["openid", "profile", "email"]);
  });

  it("is requested if idp_scopes lists it", async () => {
    bench = await startSessionBench({ idp: { scopesSupported: ["openid", "email", "profile"] } });
    expect(await scopesAsked("idp_scopes: [openid, offline_access]")).toEqual(["openid", "offline_access"]);
  });
});

describe("a key change without overlap", () => {
  /** The same provider with a new key in the place of the old one. */
  async function changeKey(keyId: string): Promise<void> {
    await bench.idp.close();
    successor = await startIdentityProvider({
      port: Number(new URL(bench.idp.issuer).port),
      keyId,
      clients: [{ client_id: "gateway", client_secret: CLIENT_SECRET, redirect_uris: [`${AUTH}/.gateway/callback`] }],
    });
  }

  it.each([
    ["with an id of its own", "second"],
    ["under the id of the old one", "demo"],
  ])("%s: the next sign-in reads the keys anew", async (_what, keyId) => {
    bench = await startSessionBench();
    await bench.browser().signIn(`${APP}/`, "alice@example.com");
    await changeKey(keyId);
    const page = await bench.browser().signIn(`${APP}/`, "bob@example.com");
    expect(JSON.parse(page.text)).toMatchObject({ user: { id: "u-bob" } });
  });
});

describe("userinfo that is down", () => {
  const noName = { id: "u-1", email: "person@example.com", groups: ["staff"], name: "", claims: { name: undefined } };
  const noGroups = { ...noName, claims: { name: undefined, groups: undefined } };
  const rules = (criterion: string): string => `
routes:
  - from: ${APP}
    to: http://127.0.0.1:9
    policy: [{ allow: { and: [{ authenticated_user: true }] }, deny: { or: [${criterion}] } }]`;

  it("does not block a sign-in if the ID token lacks only the name", async () => {
    bench = await startSessionBench({ idp: { users: [noName] } });
    bench.idp.failUserInfo(true);
    const page = await bench.browser().signIn(`${APP}/`, "u-1");
    expect(JSON.parse(page.text)).toMatchObject({ user: { email: "person@example.com", groups: ["staff"], name: "" } });
    expect(bench.idp.calls.userinfo).toBe(1);
  });

  it("blocks a sign-in if the ID token lacks the groups", async () => {
    bench = await startSessionBench({ idp: { users: [noGroups] } });
    bench.idp.failUserInfo(true);
    expect((await bench.browser().signIn(`${APP}/`, "u-1")).status).toBe(503);
  });

  it("leaves claims that only it may know unknown, so that no rule that denies by one is passed by", async () => {
    bench = await startSessionBench({ idp: { users: [noName] } });
    bench.idp.failUserInfo(true);
    await bench.browser().signIn(`${APP}/`, "u-1");
    const user = await bench.session.identities.find("u-1");
    expect(user).toBeDefined();
    const decided = (criterion: string): boolean => {
      const policy = snapshotFrom(rules(criterion)).routes[0]?.policy;
      return policy !== undefined && evaluate(policy, { http: NO_REQUEST, ...(user && { user }) }).allowed;
    };
    expect(decided("{ claim/contractor: true }")).toBe(false);
    expect(decided("{ groups: other }")).toBe(true);
    expect(decided("{ claim/email: other@example.com }")).toBe(true);
  });

  it("is requested again soon, and then all claims are known", async () => {
    bench = await startSessionBench({ idp: { users: [noName] } });
    bench.idp.failUserInfo(true);
    await bench.browser().signIn(`${APP}/`, "u-1");
    bench.idp.failUserInfo(false);
    expect(await bench.session.identities.find("u-1")).toHaveProperty("leftOut");
    bench.clock.advance(61_000);
    await bench.session.identities.refresh("u-1");
    expect(await bench.session.identities.find("u-1")).not.toHaveProperty("leftOut");
  });
});

const NO_REQUEST = { method: "GET", path: "/", host: "app.example.com", ip: "192.0.2.1" };
