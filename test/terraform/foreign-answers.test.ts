/** `url` is not always a gateway: echo servers, logins, upgrades. No message contains the token, in any spelling. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createRaw } from "node:net";

import { afterEach, describe, expect, test, vi } from "vitest";

import { readSliceText } from "../../runtime/terraform/publish/publish.ts";
import { createHttpTarget } from "../../runtime/terraform/publish/publish-http.ts";
import { askAdmin, reasonOf } from "../../runtime/terraform/publish/ask-admin.ts";
import { wireDiagnostic } from "../../runtime/terraform/protocol/diagnostics.ts";
import { askReadiness } from "../../runtime/tools/commands/ready.ts";
import { broken } from "../../runtime/tools/doctor/rule.ts";

const TOKEN = "s3cret-Admin_token.of/the+gateway";
const SLICE = '{"version":1,"owner":"team","routes":{}}';

let closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  vi.unstubAllEnvs();
  await Promise.all(closing.map((close) => close()));
  closing = [];
});

async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const escaped = (text: string): string =>
  Array.from(text, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
const spellings: readonly [string, (sent: string) => string][] = [
  ["as it is", (sent) => JSON.stringify({ message: sent, error: sent, headers: { authorization: sent } })],
  ["base64", (sent) => JSON.stringify({ message: Buffer.from(sent).toString("base64") })],
  ["escaped", (sent) => JSON.stringify({ message: escaped(sent), error: escaped(sent) })],
  ["escaped by JSON", (sent) => `{"message":"${escaped(sent)}"}`],
  ["a page", (sent) => `<html>${sent}</html>`],
  [
    "problems",
    (sent) =>
      JSON.stringify({
        problems: [{ severity: "error", message: sent, path: sent }],
        laggards: [{ id: sent, reason: sent }],
      }),
  ],
  [
    "a digest and laggards",
    (sent) => JSON.stringify({ digest: digestOf(SLICE), laggards: [{ id: "a", reason: sent }] }),
  ],
];

function digestOf(text: string): string {
  const read = readSliceText(text);
  return read.kind === "slice" ? read.digest : "";
}

const textOf = async (work: Promise<unknown>): Promise<string> => {
  const outcome = await work.catch((error: unknown) => error);
  const parts = outcome instanceof Error && "parts" in outcome ? outcome.parts : undefined;
  return outcome instanceof Error ? `${outcome.message}${JSON.stringify(parts)}` : JSON.stringify(outcome ?? "");
};
const isLeaked = (text: string): boolean =>
  [TOKEN, escaped(TOKEN), Buffer.from(TOKEN).toString("base64").slice(0, 30)].some((each) => text.includes(each));

describe.each([200, 202, 204, 302, 400, 404, 412, 422, 500])("an echo server that answers %s", (status) => {
  test.each(spellings)("%s: no message has the token, and nothing of it is taken for a slice", async (_, spell) => {
    const url = await serve((request, response) => {
      const said = spell(request.headers.authorization ?? "");
      response.writeHead(status, {
        "content-type": "application/json",
        location: "/login",
        etag: `"${digestOf(said)}x"`,
      });
      response.end(status === 204 ? undefined : said);
    });
    const target = createHttpTarget({ url, owner: "team", token: async () => TOKEN });
    const asked = async (): Promise<string> => {
      vi.stubEnv("ECHO_TOKEN", TOKEN);
      const answer = await askAdmin({ url, token_ref: "env:ECHO_TOKEN" }, {} as never, {
        method: "GET",
        path: "/status",
        code: "x",
      });
      return reasonOf(answer);
    };
    const works = [() => target.read(), () => target.write(SLICE, null), () => target.remove("a"), asked];
    for (const work of works) expect(isLeaked(await textOf(work()))).toBe(false);
  });
});

test("a gateway at which others publish is asked again, and one that fails otherwise is not", async () => {
  const codes = ["publish.busy", "publish.busy", "store.unavailable"];
  const url = await serve((_, response) => {
    const code = codes.shift();
    response.writeHead(code === undefined ? 200 : 503, { "content-type": "application/json", "retry-after": "0" });
    response.end(JSON.stringify(code === undefined ? { digest: digestOf(SLICE) } : { error: code, message: code }));
  });
  const target = createHttpTarget({ url, owner: "team", token: async () => TOKEN });
  expect(await textOf(target.write(SLICE, null))).toContain("store.unavailable");
  expect(await target.write(SLICE, null)).toEqual([]);
});

test("an answer of 101 ends the request; nothing waits for more", async () => {
  const raw = await serveRaw("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n");
  const target = createHttpTarget({ url: raw, owner: "team", token: async () => TOKEN });
  expect(await textOf(target.read())).toContain("it answers 101");
  expect((await askReadiness(raw.replace("http://", ""))).text).toContain("101");
});

async function serveRaw(answer: string): Promise<string> {
  const server = createRaw((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.write(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => new Promise((resolve) => server.close(() => resolve())));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("details of Terraform are printable and bounded", () => {
  const { detail } = wireDiagnostic({
    severity: "error",
    summary: "x",
    detail: `a\u001b[2J\u009b31m\nb${"x".repeat(100_000)}`,
  });
  expect(detail).toMatch(/^a\\u001b\[2J\\u009b31m\nbx/);
  expect(String(detail).length).toBeLessThan(40_000);
});

describe("gateway ready", () => {
  const host = (url: string): string => url.replace("http://", "");
  test("prints nothing that steers the terminal", async () => {
    const url = await serve((_, response) => response.end("ok\u001b[2J\u009b\nnext"));
    expect(await askReadiness(host(url))).toEqual({ ok: true, text: "ok\\u001b[2J\\u009b\nnext" });
  });

  test("reads no more than an answer may have", async () => {
    const url = await serve((_, response) => {
      const more = (): void => {
        while (response.write("x".repeat(65_536)));
      };
      response.on("drain", more);
      more();
    });
    expect((await askReadiness(host(url))).text).toContain("its answer is too long");
  });

  test("times out, even if the response comes byte by byte", async () => {
    const url = await serve((_, response) => {
      const timer = setInterval(() => response.write("."), 5);
      response.on("close", () => clearInterval(timer));
    });
    expect(await askReadiness(host(url), {}, 100)).toMatchObject({
      ok: false,
      text: expect.stringContaining("no answer within 0.1 s") as string,
    });
  });
});

test("gateway doctor: texts of the server neither steer the terminal nor fill it", () => {
  const verdict = broken(
    `issuer is ${JSON.stringify("a\u009b31m\u202e")}${"x".repeat(1000)}`,
    `say "\u001b[2J${"y".repeat(10_000)}" there too`,
  );
  const text = Object.values(verdict).join("\n");
  // oxlint-disable-next-line no-control-regex -- exactly these
  expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u0080-\u009f\u202e]/);
  expect(text.length).toBeLessThan(1200);
});
