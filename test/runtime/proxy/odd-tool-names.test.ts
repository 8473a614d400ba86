/** Tools whose names are not plain, on routes with rules about tools: listed and callable if their name is unambiguous. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { createListedTools } from "../../../runtime/mcp/listed-tools.ts";
import { createLog } from "../../../runtime/shared/log.ts";
import { startPipeline, type Pipeline } from "../../support/pipeline.ts";
import { sendRaw } from "../../support/raw-client.ts";

const TOOLS = [
  "Create CIFS Share",
  "notes/add",
  "a:b",
  "読む",
  "Delete Secret",
  "DELETE_SECRET",
  "delete_secret",
  "list",
];

let upstream: Server;
let pipeline: Pipeline;
const called: string[] = [];
const logged: Record<string, unknown>[] = [];
const log = createLog({
  destination: { write: (line: string) => void logged.push(JSON.parse(line) as Record<string, unknown>) },
});
const listedTools = createListedTools({ log });

beforeAll(async () => {
  upstream = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    request.on("end", () => {
      const { id, method, params } = JSON.parse(text) as { id: number; method: string; params?: { name: string } };
      if (method === "tools/call") called.push(params?.name ?? "");
      const result =
        method === "tools/list"
          ? { tools: TOOLS.map((name) => ({ name })) }
          : { content: [{ type: "text", text: "done" }] };
      response.setHeader("content-type", "application/json").end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    });
  });
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  const to = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  const route = (name: string, deny: string): string => `
      - { name: ${name}, from: "https://mcp.example", prefix: /${name}, to: "${to}", mcp: { server: {} },
          policy: [{ allow: { and: [{ domain: example.com }] }, deny: { or: [${deny}] } }] }`;
  pipeline = await startPipeline(
    `
    runtime_flags: { mcp: true }
    routes:${route("exact", '{ mcp_tool: { not_in: ["Create CIFS Share", list, 読む] } }')}${route("denied", "{ mcp_tool: delete_secret }")}${route("folded", "{ mcp_tool: { is: delete_secret, fold_case: true } }")}
  `,
    { listedTools },
  );
});
afterAll(async () => {
  await pipeline.close();
  upstream.close();
});

async function send(
  route: string,
  method: string,
  params: object,
): Promise<{ readonly status: number; readonly body: string }> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const lines = [
    `POST /${route} HTTP/1.1`,
    "Host: mcp.example",
    "Connection: close",
    "Authorization: Bearer gwt_alice",
    "Content-Type: application/json",
    "Accept: application/json, text/event-stream",
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  // Bytes of UTF-8, both ways.
  const bytes = Buffer.from(`${lines.join("\r\n")}\r\n\r\n${body}`).toString("latin1");
  const answer = await sendRaw(pipeline.port, bytes);
  return { status: answer.status, body: Buffer.from(answer.body, "latin1").toString() };
}

const list = async (route: string): Promise<readonly string[]> => {
  const { body } = await send(route, "tools/list", {});
  return (JSON.parse(body) as { result: { tools: { name: string }[] } }).result.tools.map(({ name }) => name);
};

describe("a tool that an exact rule allows", () => {
  test("is listed, and others are not", async () => {
    expect(await list("exact")).toEqual(["Create CIFS Share", "読む", "list"]);
  });

  test.each(["Create CIFS Share", "読む"])("%s can be called", async (name) => {
    called.length = 0;
    expect(await send("exact", "tools/call", { name })).toMatchObject({ status: 200 });
    expect(called).toEqual([name]);
    expect(pipeline.records.at(-1)).toMatchObject({ allow: true, "mcp-tool": name });
  });

  test("does not open its look-alikes", async () => {
    called.length = 0;
    for (const name of ["create cifs share", "Create  CIFS Share", "create_cifs_share", "Create CIFS Share\u200b"])
      expect(JSON.parse((await send("exact", "tools/call", { name })).body)).toHaveProperty("error");
    expect(called).toEqual([]);
  });
});

describe("next to a rule that denies delete_secret", () => {
  test("tools of other names are listed and can be called", async () => {
    const shown = ["Create CIFS Share", "notes/add", "a:b", "読む", "DELETE_SECRET", "list"];
    expect(await list("denied")).toEqual(shown);
    // Pages of this user know these names, and no hidden one; pages of others know none of them.
    const { user } = pipeline.records.at(-1) ?? {};
    expect(listedTools.namesFor("default/denied", String(user))).toEqual(shown);
    expect(listedTools.namesFor("default/denied", "u-other")).toEqual([]);
    called.length = 0;
    for (const name of ["Create CIFS Share", "notes/add", "a:b", "読む"])
      expect([name, (await send("denied", "tools/call", { name })).status]).toEqual([name, 200]);
    expect(called).toHaveLength(4);
  });

  test.each(["Delete Secret", "delete secret", "delete_secret ", "ｄelete_secret", "delete/secret"])(
    "%j is rejected with the true reason and never sent",
    async (name) => {
      called.length = 0;
      const { status, body } = await send("denied", "tools/call", { name });
      expect(status).toBe(400);
      expect(JSON.parse(body)).toMatchObject({
        id: 1,
        error: { code: -32602, message: expect.stringContaining("could read its name as another one") as string },
      });
      expect(pipeline.records.at(-1)).toMatchObject({ allow: false });
      expect(JSON.stringify(pipeline.records.at(-1))).toContain("mcp-unclear-tool-name");
      expect(called).toEqual([]);
    },
  );

  test("operators get one report of hidden tools, and of tools that the rule does not cover", async () => {
    await list("denied");
    await list("denied");
    expect(listedTools.list()).toContainEqual({
      route: "default/denied",
      unclear: ["Delete Secret"],
      uncovered: [{ tool: "DELETE_SECRET", rule: "delete_secret" }],
    });
    const ours = logged.filter(({ route }) => String(route).endsWith("denied"));
    expect(ours.map(({ msg, tool }) => [msg ?? "", tool])).toEqual([
      ["tool hidden, name can be mistaken for one in a rule", "Delete Secret"],
      ["tool not covered by rule, name differs only in case or spelling", "DELETE_SECRET"],
    ]);
  });
});

test("fold_case covers all cases of a name", async () => {
  expect(await list("folded")).not.toContain("DELETE_SECRET");
  called.length = 0;
  for (const name of ["delete_secret", "DELETE_SECRET", "Delete_Secret"])
    expect(JSON.parse((await send("folded", "tools/call", { name })).body)).toHaveProperty("error");
  expect((await send("folded", "tools/call", { name: "list" })).status).toBe(200);
  expect(called).toEqual(["list"]);
});
