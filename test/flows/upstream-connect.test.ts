import { createHash } from "node:crypto";

import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { examineMembers } from "../../runtime/tools/doctor/members.ts";
import { createSend, findForm, findLink } from "../support/browser.ts";
import { startUpstreamGateway, type UpstreamGateway } from "../support/upstream-gateway.ts";

let bench: UpstreamGateway;
let defaults: UpstreamGateway["service"]["switches"];

beforeAll(async () => {
  bench = await startUpstreamGateway();
  defaults = { ...bench.service.switches };
});
afterEach(() => void Object.assign(bench.service.switches, defaults));
afterAll(() => bench?.close());

const lastAuthorization = () => Object.fromEntries(bench.service.authorizations.at(-1) ?? []);

describe("static mode: client_id, client_secret and endpoint are used directly", () => {
  test("connect leads through the upstream's authorization server back to redirect_url, and the token is attached", async () => {
    const { service } = bench;
    const before = service.seen.length;
    const person = await bench.person();
    expect(await bench.list(person)).toMatchObject({ static: false });
    const page = await bench.connect(person, "static");
    expect(page).toMatchObject({ left: true, url: bench.application });
    expect(await bench.list(person)).toMatchObject({ static: true });

    // No discovery of the static route and no registration.
    expect(service.seen.slice(before).filter((each) => each.includes("register"))).toEqual([]);
    expect(lastAuthorization()).toMatchObject({
      client_id: "static-client",
      response_type: "code",
      redirect_uri: bench.callback,
      scope: "read write",
      access_type: "offline",
      prompt: "consent",
      code_challenge_method: "S256",
      resource: service.url,
    });
    const exchange = Object.fromEntries(service.tokenRequests.at(-1) ?? []);
    expect(exchange).toMatchObject({ grant_type: "authorization_code", resource: service.url });
    expect(
      createHash("sha256")
        .update(exchange["code_verifier"] ?? "")
        .digest("base64url"),
    ).toBe(lastAuthorization()["code_challenge"]);

    const client = await bench.signIn("static", { browser: person });
    const answer = await bench.call("static", client.tokens.access_token);
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.text)).toMatchObject({ result: { authorized: true, scope: "read write" } });
    const sent = service.mcpRequests.at(-1)?.authorization;
    expect(sent).toMatch(/^Bearer access-sentinel-/);
    expect(sent).not.toContain(client.tokens.access_token);
  });

  test("a user who continued without connecting gets a 401 with our challenge, and the request does not reach the upstream", async () => {
    const { service } = bench;
    service.switches.decision = "access_denied";
    const person = await bench.person("bob@example.com");
    const client = await bench.signIn("static", {
      browser: person,
      user: "bob@example.com",
      press: "Continue without it",
    });
    expect(await bench.list(person)).toMatchObject({ static: false });
    const before = service.mcpRequests.length;
    const answer = await bench.call("static", client.tokens.access_token);
    expect(answer.status).toBe(401);
    expect(answer.text).toContain("Unauthorized");
    const challenge = answer.headers["www-authenticate"] ?? "";
    expect(challenge).toMatch(/^Bearer error="invalid_token", error_description="[^"]+", resource_metadata="/);
    expect(challenge).toContain(`${bench.gateway.origin}/.well-known/oauth-protected-resource/static/mcp`);
    expect(challenge).not.toContain(service.origin);
    expect(service.mcpRequests.length).toBe(before);
    // A refresh would only bring another token that opens nothing: the client must come to the authorization endpoint.
    await expect(client.refresh()).rejects.toThrow(/invalid_grant/);

    service.switches.decision = "approve";
    const again = await bench.signIn("static", { browser: person, user: "bob@example.com" });
    expect((await bench.call("static", again.tokens.access_token)).status).toBe(200);
    expect(await bench.list(person)).toMatchObject({ static: true });
  });
});

describe("credentials mode: client_id and client_secret without endpoint", () => {
  test("endpoints are discovered through RFC 9728, the configured credentials are used, nothing is registered", async () => {
    const { service } = bench;
    const before = service.seen.length;
    const registered = service.registrations.length;
    const person = await bench.person();
    expect(await bench.connect(person, "found")).toMatchObject({ left: true });
    const asked = service.seen.slice(before);
    expect(asked).toContain("GET /.well-known/oauth-protected-resource/mcp");
    expect(asked).toContain("GET /.well-known/oauth-authorization-server");
    expect(service.registrations.length).toBe(registered);
    expect(lastAuthorization()).toMatchObject({ client_id: "static-client", scope: "read", resource: service.url });
    expect(service.tokenRequests.at(-1)?.get("authorization")).toMatch(/^Basic /);
    expect(await bench.list(person)).toMatchObject({ found: true });
  });
});

describe("discovery mode: nothing is configured", () => {
  test("everything is discovered, the gateway registers itself once, and the flow connects", async () => {
    const { service } = bench;
    const person = await bench.person();
    expect(await bench.list(person)).toMatchObject({ auto: false });
    expect(await bench.connect(person, "auto")).toMatchObject({ left: true });
    expect(service.registrations).toHaveLength(1);
    expect(service.registrations[0]).toMatchObject({
      redirect_uris: [bench.callback],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      application_type: "web",
      token_endpoint_auth_method: "client_secret_basic",
    });
    expect(await bench.list(person)).toMatchObject({ auto: true });
    // Another user of the same upstream speaks through the same registration.
    const bob = await bench.person("bob@example.com");
    await bench.connect(bob, "auto");
    expect(service.registrations).toHaveLength(1);
  });

  test("an MCP client's first login also connects the upstream: one way through sign-in, consent and both servers", async () => {
    const { service } = bench;
    await bench.gateway.runtime.flushRecords();
    const client = await bench.signIn("auto", { user: "alice@example.com" });
    const answer = await bench.call("auto", client.tokens.access_token);
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.text)).toMatchObject({ result: { authorized: true } });
    expect(service.mcpRequests.at(-1)?.authorization).toMatch(/^Bearer access-sentinel-/);
  });
});

describe("connect", () => {
  const connectUrl = (query: string): string => `${bench.gateway.origin}/.gateway/mcp/connect${query}`;

  test.each([
    ["missing", ""],
    ["empty", "?redirect_url="],
    ["of a foreign host", "?redirect_url=http://evil.example/"],
    ["of a foreign port", "?redirect_url=http://localhost:1/"],
    ["of another scheme", "?redirect_url=https://localhost/"],
    ["a script", "?redirect_url=javascript:alert(1)"],
    ["data", "?redirect_url=data:text/html,x"],
    ["without scheme", "?redirect_url=//evil.example/"],
    ["with a user name", "?redirect_url=http://localhost:1@evil.example/"],
    ["with a backslash", "?redirect_url=http://evil.example\\@localhost/"],
    ["with a line end", "?redirect_url=http://localhost%0d%0a/"],
    ["given twice", "?redirect_url=http://evil.example/&redirect_url=http://localhost/"],
    ["relative", "?redirect_url=/application"],
  ])("answers 400 before any redirect when redirect_url is %s", async (_name, query) => {
    const before = bench.service.authorizations.length;
    const page = await (await bench.person()).open(connectUrl(query));
    expect(page.status).toBe(400);
    expect(page.headers["location"]).toBeUndefined();
    // Also without sign-in: a bad link starts no sign-in.
    const stranger = await fetch(connectUrl(query.replaceAll("\\", "%5c")), { redirect: "manual" });
    expect(stranger.status).toBe(400);
    expect(bench.service.authorizations.length).toBe(before);
  });

  test("redirects a connected user straight back", async () => {
    const person = await bench.person();
    await bench.connect(person, "static");
    const before = bench.service.authorizations.length;
    expect(await bench.connect(person, "static")).toMatchObject({ left: true, url: bench.application });
    expect(bench.service.authorizations.length).toBe(before);
  });

  test("without a named server connects all servers of the host, one after the other", async () => {
    const person = await bench.person("bob@example.com");
    const page = await person.open(
      connectUrl(`?redirect_url=${encodeURIComponent(bench.application)}`),
      bench.application,
    );
    expect(page).toMatchObject({ left: true, url: bench.application });
    expect(await bench.list(person)).toMatchObject({ static: true, found: true, auto: true });
  });

  test("applies the route's policy: a user without access has nothing to connect", async () => {
    const carol = await bench.person("carol@other.example");
    const page = await carol.open(
      connectUrl(`?redirect_url=${encodeURIComponent(bench.application)}`),
      bench.application,
    );
    expect(page.status).toBe(403);
    expect(await bench.list(carol)).toEqual({});
  });

  test("requires sign-in first and then continues", async () => {
    const url = connectUrl(`?redirect_url=${encodeURIComponent(bench.application)}`);
    const send = createSend();
    const headers = { accept: "text/html", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
    const answer = await send({ method: "GET", url, headers });
    expect(answer.status).toBe(302);
    expect(answer.headers["location"]).toContain("/.gateway/sign_in");
  });

  describe("that cannot begin", () => {
    const wrongResource = { resource: "https://other.example/", authorization_servers: ["https://a.example"] };

    test("sends the browser back to redirect_url with connect_error, and says the reason in the log alone", async () => {
      const person = await bench.person("dora@example.com");
      bench.service.switches.resourceMetadata = wrongResource;
      const page = await bench.connect(person, "found");
      expect(page).toMatchObject({ left: true, url: `${bench.application}?connect_error=not-set-up` });
      expect(bench.gateway.log()).toContain("other.example");
    });

    test.each([
      ["?a=%20b+c", "?a=%20b+c&connect_error=not-set-up"],
      ["?connect_error=unavailable&a=1", "?a=1&connect_error=not-set-up"],
      ["#part", "?connect_error=not-set-up#part"],
    ])("keeps the rest of redirect_url: %s", async (more, expected) => {
      const person = await bench.person("dora@example.com");
      bench.service.switches.resourceMetadata = wrongResource;
      const query = new URLSearchParams({ redirect_url: bench.application + more, resource: bench.resource("found") });
      const page = await person.open(connectUrl(`?${query.toString()}`), bench.application);
      expect(page).toMatchObject({ left: true, url: bench.application + expected });
    });

    test("from the account page shows what to do, with links to retry and return", async () => {
      const person = await bench.person("dora@example.com");
      const link = findLink(await person.open(`${bench.gateway.origin}/.gateway/`), "Connect found") ?? "";
      bench.service.switches.resourceMetadata = wrongResource;
      const page = await person.open(link, bench.application);
      expect(page.status).toBe(502);
      expect(page.text).toContain("found is not connected");
      expect(page.text).not.toContain("other.example");
      expect(page.text).not.toContain("connect_error");
      bench.service.switches.resourceMetadata = defaults.resourceMetadata;
      const again = await person.open(findLink(page, "Try again") ?? "");
      expect(again.url).not.toContain("connect_error");
      expect(await bench.list(person)).toMatchObject({ found: true });
    });

    test.each([
      ["a trailing slash", (resource: string) => `${resource}/`],
      ["an upper-case host", (resource: string) => resource.replace("localhost", "LOCALHOST")],
    ])("never because the resource has %s, which `authorize` accepts as well", async (_name, spelled) => {
      const carol = await bench.person("carol@other.example");
      const query = new URLSearchParams({
        redirect_url: bench.application,
        resource: spelled(bench.resource("found")),
      });
      // Her policy decides, as with the exact resource: the server is found.
      const page = await carol.open(connectUrl(`?${query.toString()}`), bench.application);
      expect(findLink(page, "Back to the application")).toBe(`${bench.application}?connect_error=denied-by-policy`);
    });

    test("because of policy, or without such a server, is a page whose back link reports the error to the application", async () => {
      const carol = await bench.person("carol@other.example");
      const denied = await bench.connect(carol, "found");
      expect(denied.status).toBe(403);
      expect(findLink(denied, "Back to the application")).toBe(`${bench.application}?connect_error=denied-by-policy`);
      const unknown = await bench.connect(carol, "nowhere");
      expect(unknown.status).toBe(404);
      expect(findLink(unknown, "Back to the application")).toBe(`${bench.application}?connect_error=unknown-server`);
    });
  });

  test("that fails on the return is a page whose back link reports the error to the application", async () => {
    const person = await bench.person("dora@example.com");
    bench.service.switches.decision = "access_denied";
    const page = await bench.connect(person, "static");
    expect(page.status).toBe(403);
    expect(findLink(page, "Back to the application")).toBe(`${bench.application}?connect_error=denied`);
  });
});

describe("members of a federated route are connected each for itself", () => {
  test("without asking at the start, from the error of a call, again after disconnecting, and none loses another's", async () => {
    const { service, gateway } = bench;
    const user = "dora@example.com";
    const person = await bench.person(user);
    /** @returns false: nothing is connected */
    const disconnectOne = async (): Promise<boolean> => {
      const page = await person.open(`${gateway.origin}/.gateway/`);
      const form = findForm(page, "/.gateway/mcp/disconnect");
      if (form) await person.submit(page, form, {});
      return form !== undefined;
    };
    // Of earlier tests.
    while (await disconnectOne());
    const client = await bench.signIn("both", { browser: person, user });
    const token = client.tokens.access_token;
    const initialize = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } };
    const greeted = await bench.call("both", token, "initialize", initialize);
    expect([greeted.status, greeted.text]).toEqual([200, expect.stringContaining("static (static) is not connected")]);
    const call = async (member: string): Promise<unknown> => {
      const real = { name: `${member}__t`, arguments: {} };
      const outcomes = [];
      for (const params of [real, { name: "use_tool", arguments: real }]) {
        const { text } = await bench.call("both", token, "tools/call", params);
        const { result, error } = JSON.parse(text) as { result?: object; error?: { code: number; data: object } };
        outcomes.push(result === undefined ? error : "answered");
      }
      expect(outcomes[1]).toEqual(outcomes[0]);
      return outcomes[0];
    };
    const missing = (member: string) =>
      expect.objectContaining({
        code: -31401,
        data: { reason: "not-connected", member, url: `${gateway.origin}/.gateway/` },
      });
    expect([await call("static"), await call("found")]).toEqual([missing("static"), missing("found")]);

    const problems = async (): Promise<unknown> => {
      const members = await examineMembers(bench.resource("both"), token);
      return members
        .filter(({ seen }) => seen.startsWith("no account"))
        .map((each) => [each.member, each.seen, each.fix]);
    };
    const fix = `the user must connect an account: open ${gateway.origin}/.gateway/ and connect it`;
    const unconnected = (member: string) => [member, "no account is connected", fix];
    expect(await problems()).toEqual([unconnected("found"), unconnected("static")]);
    await bench.connect(person, "static");
    expect(await problems()).toEqual([unconnected("found")]);
    expect([await call("static"), await call("found")]).toEqual(["answered", missing("found")]);
    service.switches.decision = "access_denied";
    await bench.connect(person, "found");
    expect([await call("static"), await call("found")]).toEqual(["answered", missing("found")]);
    service.switches.decision = "approve";
    await bench.connect(person, "found");
    expect([await call("static"), await call("found")]).toEqual(["answered", "answered"]);

    expect(await disconnectOne()).toBe(true);
    const left = [await call("static"), await call("found")];
    expect(left.filter((each) => each === "answered")).toHaveLength(1);
    await bench.connect(person, left[0] === "answered" ? "found" : "static");
    expect([await call("static"), await call("found")]).toEqual(["answered", "answered"]);
    await gateway.runtime.flushRecords();
    const records = await gateway.records();
    expect(JSON.stringify(records)).not.toContain("use_tool");
    expect(records.at(-1)).toMatchObject({ "mcp-tool": "t", federated: { route: "default/both", name: "found__t" } });
  });
});
