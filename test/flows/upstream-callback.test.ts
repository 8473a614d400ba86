/** The way back from an upstream's authorization server, as others would like to bend it; lists, pages and disconnecting. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { createSend, findForm, findLink, type Browser, type Page } from "../support/browser.ts";
import { signInClient } from "../support/oauth-client.ts";
import { startUpstreamGateway, type UpstreamGateway } from "../support/upstream-gateway.ts";
import { serverMetadata } from "../support/upstream-service.ts";

let bench: UpstreamGateway;
let defaults: UpstreamGateway["service"]["switches"];

beforeAll(async () => {
  bench = await startUpstreamGateway();
  defaults = { ...bench.service.switches };
});
afterEach(() => void Object.assign(bench.service.switches, defaults));
afterAll(() => bench?.close());

/** Goes to connect and stops where the upstream sends the browser back to us. @returns the callback's address */
async function leave(person: Browser, route: string): Promise<URL> {
  const url = new URL(`${bench.gateway.origin}/.gateway/mcp/connect`);
  url.searchParams.set("redirect_url", bench.application);
  url.searchParams.set("resource", bench.resource(route));
  const page = await person.open(url.href, bench.callback);
  if (!page.left) throw new Error(`no callback: ${page.status} ${page.text}`);
  return new URL(page.url);
}

const arrive = (person: Browser, url: URL): Promise<Page> => person.open(url.href, bench.application);

/** Ends whatever a user of an earlier test has connected. */
async function disconnectAll(person: Browser): Promise<void> {
  for (;;) {
    const page = await person.open(`${bench.gateway.origin}/.gateway/`);
    const form = findForm(page, "/.gateway/mcp/disconnect");
    if (!form) return;
    await person.submit(page, form, {});
  }
}

describe("callback", () => {
  test("works once: a replay is refused and changes nothing", async () => {
    const person = await bench.person();
    const url = await leave(person, "static");
    expect(await arrive(person, url)).toMatchObject({ left: true });
    const asked = bench.service.tokenRequests.length;
    const again = await arrive(person, url);
    expect(again.status).toBe(400);
    expect(again.text).toContain("over");
    expect(bench.service.tokenRequests.length).toBe(asked);
    expect(await bench.list(person)).toMatchObject({ static: true });
  });

  test("of another user's flow is rejected: no account is connected to another user", async () => {
    const alice = await bench.person("alice@example.com");
    const bob = await bench.person("bob@example.com");
    await disconnectAll(alice);
    await disconnectAll(bob);
    const url = await leave(alice, "static");
    const asked = bench.service.tokenRequests.length;
    const page = await arrive(bob, url);
    expect(page.status).toBe(403);
    expect(bench.service.tokenRequests.length).toBe(asked);
    expect(await bench.list(bob)).toMatchObject({ static: false });
    // It is also used up for Alice: a code seen by others is invalid.
    expect((await arrive(alice, url)).status).toBe(400);
    expect(await bench.list(alice)).toMatchObject({ static: false });
  });

  test("in another browser session of the same user is refused", async () => {
    const here = await bench.person();
    await disconnectAll(here);
    const elsewhere = await bench.person();
    const url = await leave(here, "static");
    expect((await arrive(elsewhere, url)).status).toBe(403);
    expect(await bench.list(here)).toMatchObject({ static: false });
  });

  test("without a session is refused, and no code is spent", async () => {
    const person = await bench.person();
    await disconnectAll(person);
    const url = await leave(person, "static");
    const asked = bench.service.tokenRequests.length;
    const answer = await createSend()({ method: "GET", url: url.href, headers: { accept: "text/html" } });
    expect(answer.status).toBe(403);
    expect(bench.service.tokenRequests.length).toBe(asked);
  });

  test.each([
    ["without a state", (url: URL) => url.searchParams.delete("state"), 400],
    ["with another state", (url: URL) => url.searchParams.set("state", "x".repeat(43)), 400],
    ["with the state twice", (url: URL) => url.searchParams.append("state", url.searchParams.get("state") ?? ""), 400],
    ["with the code twice", (url: URL) => url.searchParams.append("code", "an-evil-code"), 400],
    ["without a code", (url: URL) => url.searchParams.delete("code"), 502],
    ["with another code", (url: URL) => url.searchParams.set("code", "an-evil-code"), 502],
    ["with an error", (url: URL) => url.searchParams.set("error", "server_error"), 502],
    ["with a signed response", (url: URL) => url.searchParams.set("response", "x.y.z"), 400],
  ])("%s is refused and connects nothing", async (_name, bend, status) => {
    const person = await bench.person("dora@example.com");
    const url = await leave(person, "static");
    bend(url);
    const page = await arrive(person, url);
    expect(page.status).toBe(status);
    expect(page.text).not.toContain("an-evil-code");
    expect(await bench.list(person)).toMatchObject({ static: false });
  });

  test("an answer of the upstream says no: a page that says so, without the upstream's own text", async () => {
    bench.service.switches.decision = "access_denied";
    const person = await bench.person("dora@example.com");
    const page = await arrive(person, await leave(person, "static"));
    expect(page.status).toBe(403);
    expect(page.text).toContain("access_denied");
    expect(page.text).not.toContain("<script>alert");
    expect(page.text).not.toContain("alert(1)");
    expect(findLink(page, "Try again")).toContain("/.gateway/mcp/connect?ticket=");
  });

  test("with strict cookies the browser comes back through a page of this host", async () => {
    const strict = await startUpstreamGateway({ settings: "cookie_same_site: strict", service: bench.service });
    try {
      bench.service.clients.set("static-client", {
        secret: bench.service.clients.get("static-client")?.secret,
        redirectUris: [bench.callback, strict.callback],
      });
      const bare = await createSend()({
        method: "GET",
        url: `${strict.callback}?code=x&state=y`,
        headers: { accept: "text/html", "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" },
      });
      expect(bare.status).toBe(200);
      expect(bare.headers["refresh"]).toBe("0;url=/.gateway/mcp/client/oauth/callback?code=x&state=y");
      // Once, not for ever.
      const again = await createSend()({
        method: "GET",
        url: `${strict.callback}?code=x&state=y`,
        headers: { accept: "text/html", "sec-fetch-site": "same-origin", "sec-fetch-mode": "navigate" },
      });
      expect(again.status).toBe(403);
    } finally {
      await strict.close();
    }
  });

  test("tickets open for the user they were made for only", async () => {
    const alice = await bench.person("alice@example.com");
    await disconnectAll(alice);
    const page = await alice.open(`${bench.gateway.origin}/.gateway/`);
    const link = findLink(page, "Connect static") ?? "";
    expect(link).toContain("ticket=");
    const bob = await bench.person("bob@example.com");
    expect((await bob.open(link)).status).toBe(400);
    expect((await alice.open(`${link}x`)).status).toBe(400);
  });
});

describe("RFC 9207 on the way back", () => {
  test.each([
    ["advertised and right", true, "right", true],
    ["advertised and missing", true, undefined, false],
    ["advertised and of another server", true, "https://evil.example", false],
    ["not advertised and absent", false, undefined, true],
    ["not advertised and right", false, "right", true],
    ["not advertised and of another server", false, "https://evil.example", false],
    ["right but for a slash", true, "slash", false],
  ])("iss %s", async (_name, isAdvertised, iss, isAccepted) => {
    const { service } = bench;
    service.switches.serverMetadata = serverMetadata(service.origin, {
      authorization_response_iss_parameter_supported: isAdvertised,
    });
    service.switches.iss = iss === "right" ? service.origin : iss === "slash" ? `${service.origin}/` : iss;
    const person = await bench.person("dora@example.com");
    await disconnectAll(person);
    const asked = service.tokenRequests.length;
    const page = await arrive(person, await leave(person, "found"));
    expect(page.left).toBe(isAccepted);
    // The code is sent only if the issuer is the requested one.
    expect(service.tokenRequests.length - asked).toBe(isAccepted ? 1 : 0);
    if (!isAccepted) expect(page).toMatchObject({ status: 400 });
  });
});

describe("registration", () => {
  test("is renewed if the server no longer knows it", async () => {
    const { service } = bench;
    const person = await bench.person("dora@example.com");
    await disconnectAll(person);
    const url = await leave(person, "auto");
    const registered = service.registrations.length;
    for (const id of service.clients.keys()) if (id.startsWith("registered-")) service.clients.delete(id);
    const page = await arrive(person, url);
    expect(page.status).toBe(502);
    expect(await person.open(findLink(page, "Try again") ?? "", bench.application)).toMatchObject({ left: true });
    expect(service.registrations.length).toBe(registered + 1);
    expect(await bench.list(person)).toMatchObject({ auto: true });
  });
});

describe("registration at a server that deleted it before any user returned", () => {
  test("is renewed after five flows without a return; tokens of the old one keep it", async () => {
    const { service } = bench;
    const person = await bench.person("dora@example.com");
    await disconnectAll(person);
    const registered = service.registrations.length;
    const bob = await bench.person("bob@example.com");
    await disconnectAll(bob);
    expect(await bench.connect(bob, "auto")).toMatchObject({ left: true });
    // Each time the user closes the window at the upstream.
    for (let count = 0; count < 5; count += 1) await leave(person, "auto");
    expect(service.registrations.length).toBe(registered);
    expect(await arrive(person, await leave(person, "auto"))).toMatchObject({ left: true });
    expect(service.registrations.length).toBe(registered + 1);
    // Bob's token is refreshed by the client that obtained it.
    service.accessTokens.clear();
    const client = await bench.signIn("auto", { browser: bob, user: "bob@example.com" });
    expect((await bench.call("auto", client.tokens.access_token)).status).toBe(200);
  });
});

describe("a server that refuses a registration once, by mistake", () => {
  test("ends one connection; those of other users are refreshed by the same registration", async () => {
    const { service } = bench;
    const signIn = (user: string) => bench.signIn("auto", { user });
    const dora = await signIn("dora@example.com");
    const bob = await signIn("bob@example.com");
    service.accessTokens.clear();
    service.switches.token = (_form, response) =>
      Boolean(response.writeHead(401, { "content-type": "application/json" }).end('{"error":"invalid_client"}'));
    expect((await bench.call("auto", dora.tokens.access_token)).status).toBe(401);
    service.switches.token = undefined;
    expect((await bench.call("auto", bob.tokens.access_token)).status).toBe(200);
  });
});

describe("the gateway's client ID metadata document", () => {
  test("is public, with its id and the callback", async () => {
    const url = `${bench.gateway.origin}/.gateway/mcp/client/metadata.json`;
    const answer = await fetch(url);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("cache-control")).toContain("public");
    expect(await answer.json()).toMatchObject({
      client_id: url,
      redirect_uris: [bench.callback],
      token_endpoint_auth_method: "none",
      grant_types: ["authorization_code", "refresh_token"],
    });
  });
});

describe("disconnect", () => {
  const post = (path: string, headers: Readonly<Record<string, string>>, body: string) =>
    createSend()({ method: "POST", url: bench.gateway.origin + path, headers, body });

  test("on the user page ends the connection and revokes both tokens at the upstream", async () => {
    const { service } = bench;
    const person = await bench.person("dora@example.com");
    await disconnectAll(person);
    await bench.connect(person, "found");
    const access = [...service.accessTokens.keys()].at(-1);
    const refresh = [...service.refreshTokens.keys()].at(-1);
    await disconnectAll(person);
    expect(await bench.list(person)).toMatchObject({ found: false });
    expect(service.revoked).toEqual(expect.arrayContaining([access, refresh]));
    expect(service.accessTokens.has(access ?? "")).toBe(false);
  });

  test("a page shows each server with its state and set-up to copy for clients", async () => {
    const person = await bench.person("dora@example.com");
    const page = await person.open(`${bench.gateway.origin}/.gateway/`);
    expect(page.text).toContain("MCP servers");
    const setup = await person.open(
      new URL(/href="([^"]*setup=[^"]*static#setup)"/.exec(page.text)?.[1] ?? "", page.url).href,
    );
    expect(setup.text).toContain(`claude mcp add --transport http static ${bench.resource("static")}`);
    expect(setup.text).toContain("mcp-remote");
    expect(setup.text).toContain("vscode:mcp/install?");
    for (const secret of bench.service.secrets) expect(page.text + setup.text).not.toContain(secret);
  });

  test("by another site's form is refused", async () => {
    const person = await bench.person();
    await bench.connect(person, "static");
    const page = await person.open(`${bench.gateway.origin}/.gateway/`);
    const form = findForm(page, "/.gateway/mcp/disconnect");
    const body = new URLSearchParams(form?.fields ?? {}).toString();
    const cookie = person.cookieHeader("localhost");
    const type = "application/x-www-form-urlencoded";
    for (const headers of [
      { origin: "https://evil.example", "sec-fetch-site": "cross-site" },
      { origin: "null" },
      {},
    ] as const) {
      const answer = await post("/.gateway/mcp/disconnect", { cookie, "content-type": type, ...headers }, body);
      expect(answer.status).toBe(403);
    }
    const bad = body.replace(/csrf=[^&]+/, "csrf=AAAA");
    const own = { cookie, "content-type": type, origin: bench.gateway.origin, "sec-fetch-site": "same-origin" };
    expect((await post("/.gateway/mcp/disconnect", own, bad)).status).toBe(403);
    expect(await bench.list(person)).toMatchObject({ static: true });
  });

  test("by an application: a list of addresses, answered with the list; never by a foreign page's cookie", async () => {
    const path = "/.gateway/mcp/routes/disconnect";
    const person = await bench.person();
    await bench.connect(person, "static");
    // The application's request behind the client route.
    await person.open(bench.application);
    const cookie = person.cookieHeader("localhost");
    const body = JSON.stringify({ routes: [bench.resource("static"), "https://unknown.example/"] });
    const json = { "content-type": "application/json" };
    expect((await post(path, json, body)).status).toBe(401);
    expect((await post(path, { ...json, cookie, origin: "https://evil.example" }, body)).status).toBe(403);
    const own = { ...json, cookie, origin: bench.gateway.origin, "sec-fetch-site": "same-origin" };
    expect((await post(path, { ...own, "content-type": "text/plain" }, body)).status).toBe(400);
    expect((await post(path, own, "{}")).status).toBe(400);
    expect((await post(path, own, "not json")).status).toBe(400);
    const answer = await post(path, own, body);
    expect(answer.status).toBe(200);
    const { servers } = answer.json() as { servers: Record<string, unknown>[] };
    expect(servers.find(({ name }) => name === "static")).toEqual({
      name: "static",
      url: bench.resource("static"),
      connected: false,
    });
  });
});

describe("the list of MCP servers", () => {
  test("has exactly the keys name, url and connected, in stable order, only what the user may use", async () => {
    const person = await bench.person();
    const headers = { accept: "application/json", cookie: person.cookieHeader("localhost") };
    const url = `${bench.gateway.origin}/.gateway/mcp/routes`;
    const first = await createSend()({ method: "GET", url, headers });
    const { servers } = first.json() as { servers: Record<string, unknown>[] };
    expect(servers.map((server) => Object.keys(server))).toEqual(servers.map(() => ["name", "url", "connected"]));
    expect(servers.map(({ name }) => name)).toEqual(["auto", "both", "found", "static"]);
    expect((await createSend()({ method: "GET", url, headers })).text).toBe(first.text);
    const carol = await bench.person("carol@other.example");
    expect(await bench.list(carol)).toEqual({});
  });

  test("needs a credential, and says so in the words of RFC 6750", async () => {
    const answer = await fetch(`${bench.gateway.origin}/.gateway/mcp/routes`);
    expect(answer.status).toBe(401);
    expect(answer.headers.get("www-authenticate")).toBe("Bearer");
    const client = await signInClient({ resource: bench.resource("static"), user: "alice@example.com" });
    const foreign = await fetch(`${bench.gateway.origin}/.gateway/mcp/routes`, {
      headers: { authorization: `Bearer ${client.tokens.access_token}` },
    });
    expect(foreign.status).toBe(401);
  });

  test("a server whose upstream needs no token is connected", async () => {
    const { service } = bench;
    const open = await startUpstreamGateway({
      service,
      change: (yaml) => yaml.replaceAll("prefix: /auto", "prefix: /open"),
    });
    try {
      service.switches.open = true;
      service.switches.resourceMetadata = undefined;
      const person = await open.person();
      expect(await open.list(person)).toMatchObject({ auto: true, static: false });
    } finally {
      await open.close();
    }
  });
});
