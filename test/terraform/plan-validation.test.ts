/**
 * A gateway's responses about a bundle before and after it is published: current and older gateways, and other servers at
 * their address.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, describe, expect, test, vi } from "vitest";

import { createHttpTarget } from "../../runtime/terraform/publish/publish-http.ts";
import { createFileTarget, readSliceText } from "../../runtime/terraform/publish/publish.ts";
import { createBundleResource } from "../../runtime/terraform/resource/bundle-resource.ts";
import { wireDiagnostic } from "../../runtime/terraform/protocol/diagnostics.ts";
import { gatewayWarnings, planProblems } from "../../runtime/terraform/resource/gateway-answers.ts";
import type { ValueMap } from "../../runtime/terraform/protocol/value.ts";

const TOKEN = "s3cret-Admin_token";
const TEXT = '{"version":1,"owner":"team","routes":{}}';
const read = readSliceText(TEXT);
const DIGEST = read.kind === "slice" ? read.digest : "";
const CALLER = { writeOnlyAttributes: true };
const CONNECTION = { adminToken: TOKEN, ca: null, clientCert: null, clientKey: null };

let close = async (): Promise<void> => {};
afterEach(async () => {
  vi.unstubAllEnvs();
  await close();
  close = async () => {};
});

/** @returns its address, and what it was asked */
async function serve(status: number, body: unknown): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request: IncomingMessage, response) => {
    asked.push(`${request.method} ${request.url}`);
    request.resume().on("end", () => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

const bundle = (url: string, more: ValueMap = {}): ValueMap => ({
  owner: "team",
  http: { url },
  route: { app: {} },
  bundle_json: TEXT,
  sha256: DIGEST,
  ...more,
});

describe("planProblems()", () => {
  test("asks once, and reports nothing for a valid bundle", async () => {
    const { url, asked } = await serve(200, { digest: DIGEST, warnings: [] });
    expect(await planProblems(null, bundle(url), CONNECTION)).toEqual([]);
    expect(asked).toEqual(["POST /config/slices/team/validate"]);
  });

  test("reports each error at its location, and none of other bundles", async () => {
    const problems = [
      { severity: "error", path: "routes.app.from", message: "conflicts with another owner's configuration" },
      { severity: "error", path: "", message: "something else", source: "elsewhere" },
      { severity: "warning", path: "routes.app.from", message: "a warning" },
    ];
    const { url } = await serve(422, { error: "invalid", message: "all", problems });
    const found = (await planProblems(null, bundle(url), CONNECTION)).map((each) => wireDiagnostic(each)["detail"]);
    expect(found).toEqual([
      'The gateway would refuse the bundle: "routes.app.from" conflicts with another owner\'s configuration.\n\nAt route["app"].from',
      "The gateway would refuse the bundle: elsewhere:  something else.",
    ]);
  });

  test.each([
    [404, { error: "owner", message: '"team/validate" is not a valid owner name' }],
    [403, { error: "owner", message: 'this token is only valid for the slice of owner "team"' }],
  ])("continues with an older gateway (%s)", async (status, body) => {
    const { url } = await serve(status, body);
    expect(await planProblems(null, bundle(url), CONNECTION)).toEqual([]);
  });

  test.each<[string, number, unknown]>([
    ["an unavailable store", 503, { error: "store.unavailable", message: "the store is unavailable" }],
    ["a token that it does not take", 401, { error: "token" }],
    ["a web server that says 200 to anything", 200, {}],
    ["a web server that has no such page", 404, "no"],
    ["a web server that refuses everything", 422, {}],
  ])("warns of no answer: %s", async (_name, status, body) => {
    const { url } = await serve(status, body);
    const found = await planProblems(null, bundle(url), CONNECTION);
    expect(found).toMatchObject([{ severity: "warning", summary: "Not validated by the gateway" }]);
  });

  test("does not ask about published, unknown or file bundles, nor when switched off", async () => {
    const { url, asked } = await serve(422, { error: "invalid", problems: [] });
    const none: (readonly [ValueMap | null, ValueMap])[] = [
      [bundle(url), bundle(url)],
      [null, bundle(url, { bundle_json: null })],
      [null, bundle(url, { http: null, file: { directory: "/nowhere" } })],
    ];
    for (const [prior, planned] of none) expect(await planProblems(prior, planned, CONNECTION)).toEqual([]);
    vi.stubEnv("GATEWAY_PLAN_VALIDATION", "off");
    expect(await planProblems(null, bundle(url), CONNECTION)).toEqual([]);
    expect(asked).toEqual([]);
    vi.unstubAllEnvs();
    expect(await planProblems(bundle("http://other.example"), bundle(url), CONNECTION)).toMatchObject([
      { severity: "error", summary: "Refused by the gateway" },
    ]);
  });
});

describe("a new resource whose slice is already published", () => {
  const config: ValueMap = { owner: "team", runtime_flags: null, seal_key: null, routes: null, route: {}, http: null };

  /** @returns what the plan of a new resource says of the slice; `claim` is of the resource that published it */
  async function planned(directory: string, kept?: string): Promise<readonly string[]> {
    const resource = createBundleResource(CONNECTION);
    const next = { ...config, file: { directory } };
    // Terraform's first request when told to replace the resource.
    if (kept !== undefined) await resource.plan({ ...next, bundle_json: TEXT, sha256: DIGEST }, next, CALLER, kept);
    const { diagnostics } = await resource.plan(null, next, CALLER, "");
    return diagnostics
      .map(wireDiagnostic)
      .flatMap(({ summary, detail }) => (summary === "Slice is published already" ? [String(detail)] : []));
  }

  test.each([
    ["the same content", TEXT, /has this content already.*destroying it then removes the slice.*"moved" block/],
    ["other content", TEXT.replace("{}}", '{"a":{}}}'), /Applying fails unless the content is the same\. Import/],
  ])("is reported before it takes the slice over or fails: %s", async (_name, text, expected) => {
    const directory = mkdtempSync(join(tmpdir(), "plan-"));
    close = async () => rmSync(directory, { recursive: true });
    expect(await planned(directory)).toEqual([]);
    await createFileTarget({ directory, owner: "team", mode: undefined }).write(text, null, "claim-a");
    expect(await planned(directory)).toEqual([expect.stringMatching(expected)]);
    // Not of one that only is replaced.
    expect(await planned(directory, "claim-a")).toEqual([]);
    expect(await planned(directory, "claim-b")).toHaveLength(1);
    vi.stubEnv("GATEWAY_PLAN_VALIDATION", "off");
    expect(await planned(directory)).toEqual([]);
  });
});

describe("warnings after publishing", () => {
  const told = async (warnings: readonly object[], status = 200): Promise<string> => {
    const { url } = await serve(status, { digest: DIGEST, warnings });
    const target = createHttpTarget({ url, owner: "team", token: async () => TOKEN });
    const written = await target.write(TEXT, null);
    return gatewayWarnings(written, bundle(url), [])
      .map((each) => String(wireDiagnostic(each)["detail"]))
      .join("\n--\n");
  };
  const warning = (message: string): object => ({ severity: "warning", path: "routes.app.to", message });

  test("are one diagnostic, and with one of them at its place", async () => {
    expect(await told([])).toBe("");
    expect(await told([warning("is odd")])).toBe('"routes.app.to" is odd.\n\nAt route["app"].to');
    expect(await told([warning("is odd"), { ...warning("is even"), path: "" }])).toBe(
      '"routes.app.to" is odd.\nis even.',
    );
  });

  test("are bounded and printable, and do not repeat the token", async () => {
    const text = await told([
      warning(`\u001b[2J${"x".repeat(100_000)}`),
      warning(`you sent ${TOKEN}`),
      ...Array.from({ length: 5_000 }, (_, at) => warning(`number ${at}`)),
    ]);
    expect(text).toContain("\\u001b[2J");
    expect(text).not.toContain(TOKEN);
    expect(text).toContain("91 more warnings are not shown");
    expect(text.length).toBeLessThan(33_000);
  });

  test("come with the failure of a bundle that is not active everywhere", async () => {
    const failed = told([warning("is odd")], 202);
    await expect(failed).rejects.toMatchObject({ code: "publish.not-live", warnings: [{ message: "is odd" }] });
  });

  test("say nothing that this side has said", () => {
    const known = {
      severity: "warning",
      summary: "x",
      detail: '"to" is odd.',
      path: [{ attribute: "route" }, { key: "app" }, { attribute: "to" }],
    } as const;
    expect(gatewayWarnings([{ path: "routes.app.to", message: "is odd" }], bundle("http://x"), [known])).toEqual([]);
  });
});
