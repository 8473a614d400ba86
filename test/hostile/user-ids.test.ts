/**
 * Subjects that resemble another user: another issuer's user, a service account, the same name in another spelling. Real
 * oidc-providers, real sockets; two issuers share one store, like those of one gateway.
 */
import { decodeJwt } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { DemoUser } from "../../examples/demo/identity-provider.ts";
import { listDevices, registerDevice } from "../../runtime/identity/devices/devices.ts";
import { userTag, type IdentityRecord } from "../../runtime/identity/identity-records.ts";
import { createServiceAccount } from "../../runtime/identity/tokens/service-accounts.ts";
import { listSessions } from "../../runtime/identity/users/list-sessions.ts";
import { onlyOf } from "../../runtime/tools/commands/administration.ts";
import { recordFormats } from "../../runtime/record-kinds.ts";
import { listConsents, listGrants } from "../../runtime/oauth/server/list-access.ts";
import { findBlock, indexBlocks } from "../../runtime/policy/blocks.ts";
import { withFormats } from "../../runtime/store/formats.ts";
import { createMemoryStore } from "../../runtime/store/memory.ts";
import type { Store } from "../../runtime/store/store.ts";
import { createTestClock } from "../support/clock.ts";
import { routeNamed } from "../support/config.ts";
import { testUser, useIssuers } from "../support/issuer.ts";
import { APP, startSessionBench, type SessionBench } from "../support/session-bench.ts";
import type { Browser, Page } from "../support/scripted-browser.ts";
import { userId } from "../support/users.ts";
import { openUpstreamWorld, personNamed } from "../store/upstream-world.ts";

const person = (id: string, email: string): DemoUser => ({ id, email, name: email, groups: [] });
const seen = (page: Page): { id: string; claims: Record<string, unknown> } =>
  (JSON.parse(page.text) as { user: { id: string; claims: Record<string, unknown> } }).user;
const NOW = Math.floor(Date.now() / 1000) * 1000;

describe("subjects of the first provider", () => {
  const COMPOSED = "josé";
  const DECOMPOSED = "jose\u0301";
  /** Each is a user of its own. */
  const TAKEN = [
    "Issuer:corp/1",
    "ISSUER:corp/1",
    " issuer:corp/1",
    "issuer\uff1acorp/1",
    "\u0456ssuer:corp/1",
    "Service-Account:ci",
    "service\u2010account:ci",
    "s\u0435rvice-account:ci",
    "service-account\uff1aci",
    "corp/1",
    COMPOSED,
    DECOMPOSED,
    COMPOSED.toUpperCase(),
  ];
  const REFUSED = ["issuer:corp/1", "issuer:corp", "issuer:", "service-account:ci", "service-account:"];
  let bench: SessionBench;
  beforeAll(async () => {
    bench = await startSessionBench({
      idp: {
        users: [
          ...TAKEN.map((id, index) => person(id, `taken-${index}@example.com`)),
          ...REFUSED.map((id, index) => person(id, `refused-${index}@example.com`)),
        ],
      },
    });
    const account = { name: "ci", email: "", groups: ["robots"], expiresAt: Math.floor(NOW / 1000) + 3600 };
    expect((await createServiceAccount({ store: records(), clock: bench.clock }, account)).ok).toBe(true);
  });
  afterAll(() => bench.close());
  const records = (): Store => withFormats(bench.store.store, recordFormats);

  test.each(REFUSED.map((subject, index) => [subject, index] as const))("%j is refused", async (subject, index) => {
    const page = await bench.browser().signIn(`${APP}/`, `refused-${index}@example.com`);
    expect(page.status).toBe(403);
    expect(page.text).toContain("Your ID at the identity provider is not valid here");
    expect(page.headers["set-cookie"]?.join() ?? "").not.toContain("gateway_session=");
    // The operator sees the user and the reason.
    const prefix = subject.startsWith("issuer:") ? "issuer:" : "service-account:";
    const reason = `the provider's subject "${subject}" begins with "${prefix}"`;
    const line = bench
      .logged()
      .split("\n")
      .find((each) => each.includes(JSON.stringify(reason).slice(1, -1)));
    expect(line && JSON.parse(line)).toMatchObject({ failure: "idp.subject", msg: "sign-in failed" });
    expect(await bench.store.store.get(`identity:${subject}`)).toBeUndefined();
  });

  test.each(TAKEN.map((subject, index) => [subject, index] as const))(
    "%j is one user of its own",
    async (subject, index) => {
      const page = await bench.browser().signIn(`${APP}/`, `taken-${index}@example.com`);
      expect(page.status).toBe(200);
      expect(seen(page)).toMatchObject({ id: subject, claims: { sub: subject } });
      const listed = await bench.store.store.list(userTag(subject));
      expect(listed.map(({ key }) => key.replace(/^session:.*/, "session"))).toEqual([
        `identity:${subject}`,
        "session",
      ]);
    },
  );

  test("revoking one spelling of a name leaves the others", async () => {
    const browsers = await Promise.all(
      [COMPOSED, DECOMPOSED, COMPOSED.toUpperCase()].map(async (subject) => {
        const browser = bench.browser();
        await browser.signIn(`${APP}/`, `taken-${TAKEN.indexOf(subject)}@example.com`);
        return browser;
      }),
    );
    await bench.session.revocations.revoke(userTag(DECOMPOSED));
    expect(await Promise.all(browsers.map((each) => statusOf(each)))).toEqual([200, 302, 200]);
  });
});

describe("a record of an older version with a subject that is rejected now", () => {
  const OLD = "issuer:corp/1";
  let bench: SessionBench;
  let corp: SessionBench;
  beforeAll(async () => {
    const store = createMemoryStore({ clock: createTestClock(NOW) });
    bench = await startSessionBench({ store });
    corp = await startSessionBench({ store, issuerName: "corp", idp: { users: [person("1", "one@corp.example")] } });
    const written: Omit<IdentityRecord, "issuer"> = {
      userId: userId("1", "corp"),
      providerUrl: bench.idp.issuer,
      providerClientId: "gateway",
      version: 1,
      email: "old@example.com",
      name: "Old",
      groups: ["admins"],
      claims: { sub: OLD },
      confirmedAt: NOW / 1000,
      confirmations: 1,
      signIns: 1,
    };
    const expiresAt = NOW / 1000 + 36_000;
    await withFormats(store, recordFormats).put(`identity:${OLD}`, written, { expiresAt, tags: [userTag(OLD)] });
  });
  afterAll(async () => {
    await corp.close();
    await bench.close();
  });

  test("is ignored", async () => {
    for (const { session } of [bench, corp]) {
      expect(await session.identities.find(OLD)).toBeUndefined();
      expect(await session.identities.refresh(OLD)).toEqual({ ok: false, reason: "refused" });
    }
  });

  test("does not become the issuer's user", async () => {
    const page = await corp.browser().signIn(`${APP}/`, "one@corp.example");
    expect(page.status).toBe(403);
    expect(corp.logged()).toContain("another issuer's user has this id");
    expect((await corp.store.store.get<IdentityRecord>(`identity:${OLD}`))?.value.email).toBe("old@example.com");
  });
});

/** The same subject and the same address at both, and different people. */
describe("two issuers that both have a subject 1", () => {
  const HERE = userId("1");
  const THERE = userId("1", "corp");
  let first: SessionBench;
  let corp: SessionBench;
  let store: Store;
  beforeAll(async () => {
    store = createMemoryStore({ clock: createTestClock(NOW) });
    const users = (name: string): DemoUser[] => [{ ...person("1", "one@example.com"), name, groups: [name] }];
    first = await startSessionBench({ store, idp: { users: users("here") } });
    corp = await startSessionBench({ store, idp: { users: users("there") }, issuerName: "corp" });
  });
  afterAll(async () => {
    await corp.close();
    await first.close();
  });
  const signIn = async (bench: SessionBench): Promise<Browser> => {
    const browser = bench.browser();
    expect((await browser.signIn(`${APP}/`, "one@example.com")).status).toBe(200);
    return browser;
  };

  test("are two users, with claims, groups and tokens of their own", async () => {
    const [here, there] = [await signIn(first), await signIn(corp)];
    expect(seen(await here.open(`${APP}/`))).toMatchObject({ id: "1", name: "here", groups: ["here"] });
    // "sub" alone would be the other one's in policies and headers.
    expect(seen(await there.open(`${APP}/`))).toMatchObject({
      id: "issuer:corp/1",
      name: "there",
      groups: ["there"],
      claims: { sub: "issuer:corp/1" },
    });
    for (const [bench, id] of [
      [first, HERE],
      [corp, THERE],
    ] as const) {
      expect(await bench.session.identities.refresh(id)).toMatchObject({ ok: true, user: { id } });
    }
    const { value } = (await store.get<IdentityRecord>(`identity:${THERE}`)) ?? {};
    expect(value).toMatchObject({ userId: THERE, issuer: "corp", providerUrl: corp.idp.issuer });
    expect((await store.get<IdentityRecord>("identity:1"))?.value).not.toHaveProperty("issuer");
  });

  test("are never checked at the other's provider", async () => {
    await signIn(first);
    await signIn(corp);
    const before = [first.idp.calls.refresh, corp.idp.calls.refresh];
    expect(await first.session.identities.refresh(THERE)).toEqual({ ok: false, reason: "refused" });
    expect(await corp.session.identities.refresh(HERE)).toEqual({ ok: false, reason: "refused" });
    expect([first.idp.calls.refresh, corp.idp.calls.refresh]).toEqual(before);
  });

  test("are distinguished by upstreams", async () => {
    await signIn(corp);
    const user = await corp.session.identities.find(THERE);
    if (!user) throw new Error("no such user");
    const principal = { kind: "session", user, sid: "s", expiresAt: NOW, revocationKeys: [] } as const;
    const jwt = corp.session.assertions.sign(principal, routeNamed(corp.snapshot(), "app"));
    expect(decodeJwt(jwt)).toMatchObject({ sub: "issuer:corp/1", user: "issuer:corp/1" });
  });

  test.each([
    ["here", HERE, [302, 200]],
    ["there", THERE, [200, 302]],
  ] as const)("revoking the one %s leaves the other's sessions", async (_, id, statuses) => {
    const browsers = [await signIn(first), await signIn(corp)];
    await first.session.revocations.revoke(userTag(id));
    await Promise.all([first, corp].map(({ session }) => catchUp(session)));
    expect(await Promise.all(browsers.map((each) => statusOf(each)))).toEqual(statuses);
  });

  test("a block of one does not affect the other", () => {
    const block = { kind: "user", name: THERE, reason: "", since: 0, by: "" } as const;
    const index = indexBlocks([block]);
    expect(findBlock(index, { user: { id: THERE, email: "one@example.com" } }, 1)).toBe(block);
    expect(findBlock(index, { user: { id: HERE, email: "one@example.com" } }, 1)).toBeUndefined();
    // An id with an "@" is no address.
    const withAt = indexBlocks([{ ...block, name: userId("one@example.com", "corp") }]);
    expect(withAt.emails.size).toBe(0);
    expect(findBlock(withAt, { user: { id: HERE, email: "one@example.com" } }, 1)).toBeUndefined();
  });

  test("administrators end one by id, and both by the address that both have", async () => {
    await signIn(first);
    await signIn(corp);
    const sessions = await listSessions(store);
    const ofUser = async (named: string): Promise<string[]> => {
      const chosen = await onlyOf(store, named, sessions, ({ userId: owner }) => owner);
      return [...new Set(chosen.map(({ userId: owner }) => owner))].toSorted();
    };
    expect(await ofUser(HERE)).toEqual([HERE]);
    expect(await ofUser(THERE)).toEqual([THERE]);
    expect(await ofUser("One@example.com")).toEqual([HERE, THERE]);
    expect(await ofUser("issuer:corp/one@example.com")).toEqual([]);
  });

  test("devices of one are not the other's", async () => {
    const records = withFormats(store, recordFormats);
    const deps = { store: records, clock: first.clock, revocations: first.session.revocations };
    for (const id of [HERE, THERE]) {
      const made = await registerDevice(deps, {
        userId: id,
        name: `of ${id}`,
        rpId: "auth.example.com",
        credential: {
          credentialId: Buffer.from(id).toString("base64url"),
          publicKey: "a2V5",
          counter: 1,
          transports: ["internal"],
          isSynced: false,
          type: "any",
        },
      });
      expect(made).toHaveProperty("id");
    }
    for (const id of [HERE, THERE]) {
      expect((await listDevices(deps, id)).map(({ device }) => device.name)).toEqual([`of ${id}`]);
    }
  });
});

describe("grants and connections of two issuers' users with one subject", () => {
  const start = useIssuers();

  test("revoking one leaves the other's grant, approval and refresh", async () => {
    const issuer = await start();
    const [here, there] = [testUser("1"), testUser("1", "corp")];
    for (const user of [here, there]) issuer.identities.users.set(user.id, user);
    const [mine, theirs] = [await issuer.signIn({ userId: here.id }), await issuer.signIn({ userId: there.id })];
    const opened = (token: string) => issuer.externalTokens.open(token);
    expect(opened(mine.tokens.access_token)).toMatchObject({ ok: true, claims: { userId: "1" } });
    expect(opened(theirs.tokens.access_token)).toMatchObject({ ok: true, claims: { userId: "issuer:corp/1" } });

    await issuer.revocations.revoke(userTag(here.id));
    expect(await listGrants(issuer.store, { userId: here.id })).toEqual([]);
    expect((await listGrants(issuer.store, {})).map(({ userId: owner }) => owner)).toEqual([there.id]);
    expect(await listConsents(issuer.store, there.id)).toHaveLength(1);
  });

  test("connecting and disconnecting one leaves the other", async () => {
    const clock = createTestClock(NOW);
    const world = openUpstreamWorld(createMemoryStore({ clock }), clock);
    const target = world.target("static");
    const [here, there] = [personNamed("1"), personNamed("1", "corp")];
    const connect = async (who: typeof here, code: string): Promise<void> => {
      const journey = { returnTo: "https://app.example.com/", routes: [target.route.key], back: "Back" };
      const begun = await world.flows.begin(who, target, world.snapshot.settings, journey);
      if (!begun.ok) throw new Error(begun.detail);
      const state = new URL(begun.url).searchParams.get("state") ?? "";
      const answer = new Map([
        ["state", state],
        ["code", code],
      ]);
      const { host } = target.route;
      // The flow belongs to its session.
      const other = who === here ? there : here;
      const stolen = { ...other, sid: who.sid, sessionId: who.sid };
      expect((await world.flows.complete(stolen, host, answer, world.snapshot)).ok).toBe(false);
      const again = await world.flows.begin(who, target, world.snapshot.settings, journey);
      if (!again.ok) throw new Error(again.detail);
      answer.set("state", new URL(again.url).searchParams.get("state") ?? "");
      expect((await world.flows.complete(who, host, answer, world.snapshot)).ok).toBe(true);
    };
    await connect(there, "code-there");
    expect(await world.tokenStore.find(here.user.id, target)).toBeUndefined();
    await connect(here, "code-here");
    expect(await world.tokenStore.disconnect(here.user.id, target)).toBe(true);
    expect(await world.tokenStore.find(here.user.id, target)).toBeUndefined();
    expect(await world.tokenStore.find(there.user.id, target)).toMatchObject({ userId: "issuer:corp/1" });
    await world.close();
  });
});

const statusOf = async (browser: Browser): Promise<number> => (await browser.open(`${APP}/`, { follow: false })).status;

/** Until the process has read all that is in the revocation feed. */
async function catchUp({ revocations }: SessionBench["session"]): Promise<void> {
  await (revocations as typeof revocations & { catchUp(): Promise<void> }).catchUp();
}
