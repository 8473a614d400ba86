/** Approvals as the official SDK clients of both eras meet them: an error with an address, or a question that is held open. */
import {
  Client as ClientV2,
  ProtocolError,
  StreamableHTTPClientTransport as TransportV2,
} from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { McpError } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { type RunningMcpServer, startMcpServer } from "../../examples/demo/mcp-server.ts";
import { createSend, findForm } from "../support/browser.ts";
import { modernHeaders, modernMeta } from "../support/mcp.ts";
import { signInClient, type SignedInClient } from "../support/oauth-client.ts";
import { type SignInGateway, startSignInGateway } from "../support/sign-in-gateway.ts";

let server: RunningMcpServer;
let world: SignInGateway;
let alice: SignedInClient;
let bob: SignedInClient;

const POLICY = (from: string, to: string): string => `
routes:
  - name: tools
    from: "${from}"
    prefix: /tools
    to: ${to}
    mcp: { server: { path: /mcp } }
    policy:
      - allow: { and: [{ domain: { is: example.com } }] }
      - approve: { and: [{ mcp_tool: { is: add_note } }] }
      - approve: { and: [{ mcp_tool: { is: delete_repo } }] }
        approvers: [admins]
`;

beforeAll(async () => {
  server = await startMcpServer();
  world = await startSignInGateway({ pagesHost: "127.0.0.1", yaml: POLICY("{origin}", server.origin) });
  const resource = `${world.gateway.origin}/tools/mcp`;
  alice = await signInClient({ resource, user: "alice@example.com" });
  bob = await signInClient({ resource, user: "bob@example.com" });
});

afterAll(async () => {
  await world?.close();
  await server?.close();
});

let text = "";
let count = 0;
beforeEach(() => {
  count += 1;
  text = `note ${count}`;
});

const url = (): URL => new URL(`${world.gateway.origin}/tools/mcp`);
const headers = (client: SignedInClient) => ({ headers: { authorization: `Bearer ${client.tokens.access_token}` } });
const notes = (): readonly unknown[] =>
  server.calls.filter(({ arguments: given }) => (given as { text?: string }).text === text);

async function decide(client: SignedInClient, page: string, decision: "approve" | "refuse"): Promise<number> {
  const shown = await client.oauth.browser.open(page);
  const form = findForm(shown, "/.gateway/approval");
  return form ? (await client.oauth.browser.submit(shown, form, { decision })).status : shown.status;
}

async function connectV2(capabilities: object, mode: "auto" | "legacy" = "auto"): Promise<ClientV2> {
  const options = { versionNegotiation: { mode }, capabilities } as never;
  const client = new ClientV2({ name: "v2", version: "1" }, options);
  await client.connect(new TransportV2(url(), { requestInit: headers(alice) }));
  return client;
}

type Data = Readonly<Record<"reason" | "approval_url", string>>;

describe("a client that declared no elicitation", () => {
  test("of SDK v1 reads the address in the error, and the same call passes once it is approved", async () => {
    const client = new ClientV1({ name: "v1", version: "1" });
    await client.connect(new TransportV1(url(), { requestInit: headers(alice) }));
    const call = () => client.callTool({ name: "add_note", arguments: { text } });
    const error = await call().then(
      () => undefined,
      (failure: unknown) => failure as McpError,
    );
    expect(error).toBeInstanceOf(McpError);
    const { reason, approval_url: page } = (error?.data ?? {}) as Data;
    expect([error?.code, reason]).toEqual([-31403, "approval-required"]);
    expect(await decide(alice, page, "approve")).toBe(200);
    expect((await call()).content).toBeDefined();
    expect(notes()).toHaveLength(1);
    await client.close();
  });

  test.each(["auto", "legacy"] as const)("of SDK v2 (%s) likewise", async (mode) => {
    const client = await connectV2(mode === "auto" ? {} : { elicitation: { form: {}, url: {} } }, mode);
    const call = () => client.callTool({ name: "add_note", arguments: { text } });
    const error = await call().then(
      () => undefined,
      (failure: unknown) => failure as ProtocolError,
    );
    expect(error).toBeInstanceOf(ProtocolError);
    const { reason, approval_url: page } = (error?.data ?? {}) as Data;
    expect([error?.code, reason]).toEqual([-31403, "approval-required"]);
    expect(await decide(alice, page, "approve")).toBe(200);
    expect((await call()).content).toBeDefined();
    expect(notes()).toHaveLength(1);
    await client.close();
  });
});

describe("a client of 2026-07-28 that declared elicitation", () => {
  /** The user's request. */
  async function ask(modes: object, answer: (params: Asked) => Promise<object>): Promise<unknown> {
    const client = await connectV2({ elicitation: modes });
    client.setRequestHandler("elicitation/create", ((request: { params: Asked }) => answer(request.params)) as never);
    try {
      return await client.callTool({ name: "add_note", arguments: { text } });
    } finally {
      await client.close();
    }
  }
  interface Asked {
    readonly mode?: string;
    readonly message: string;
    readonly url?: string;
  }
  const pageIn = ({ url: page, message }: Asked): string => page ?? /https?:\S+/.exec(message)?.[0] ?? "";

  test.each([
    ["url", { form: {}, url: {} }],
    ["form", {}],
    ["form", { form: {} }],
  ] as const)(
    "gets an approval request by %s, and its call is held until the user approves on the page",
    async (mode, modes) => {
      const asked: Asked[] = [];
      let decided: Promise<number> | undefined;
      const result = await ask(modes, (params) => {
        asked.push(params);
        // Said to be done before it is: the answer alone lets nothing pass.
        decided = decide(alice, pageIn(params), "approve");
        return Promise.resolve({ action: "accept", ...(mode === "form" && { content: { approved: true } }) });
      });
      expect(await decided).toBe(200);
      expect(asked.map((each) => each.mode)).toEqual([mode]);
      expect((result as { content: unknown }).content).toBeDefined();
      expect(notes()).toEqual([{ tool: "add_note", arguments: { text } }]);
    },
  );

  test("is refused when its user refuses, on the page or in the client", async () => {
    const onPage = ask({ url: {} }, async (params) => {
      expect(await decide(alice, pageIn(params), "refuse")).toBe(200);
      return { action: "accept" };
    });
    await expect(onPage).rejects.toThrow(/refused/);
    text += " again";
    const inClient = ask({ url: {} }, () => Promise.resolve({ action: "decline" }));
    await expect(inClient).rejects.toThrow(/refused/);
    text += " and again";
    let page = "";
    const dismissed = ask({ url: {} }, (params) => {
      page = pageIn(params);
      return Promise.resolve({ action: "cancel" });
    });
    await expect(dismissed).rejects.toThrow(/requires an approval/);
    expect(await decide(alice, page, "refuse")).toBe(200);
    expect(notes()).toEqual([]);
  });
});

const send = createSend();
async function post(client: SignedInClient, params: object, capabilities: object = { elicitation: { url: {} } }) {
  const meta = { ...modernMeta(), "io.modelcontextprotocol/clientCapabilities": capabilities };
  const given = { name: "add_note", arguments: { text }, ...params };
  const list = modernHeaders("tools/call", given.name);
  const pairs = Array.from({ length: list.length / 2 }, (_, at) => [list[2 * at], list[2 * at + 1]]);
  const answer = await send({
    method: "POST",
    url: url().href,
    headers: {
      ...Object.fromEntries(pairs),
      accept: "application/json, text/event-stream",
      ...headers(client).headers,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 7, method: "tools/call", params: { _meta: meta, ...given } }),
  });
  return JSON.parse(/^data: (.*)$/m.exec(answer.text)?.[1] ?? answer.text) as Reply;
}
interface Reply {
  readonly id?: number;
  readonly result?: {
    readonly resultType?: string;
    readonly requestState?: string;
    readonly inputRequests?: { readonly approval: { readonly params: { readonly url: string } } };
  };
  readonly error?: { readonly code: number; readonly data: Readonly<Record<string, string>> };
}
const ACCEPTED = { approval: { action: "accept" } };

describe("requestState", () => {
  test("is invalid for other users, elsewhere, and if changed", async () => {
    const { result } = await post(alice, {});
    const state = result?.requestState ?? "";
    const codes = [];
    for (const [client, requestState] of [
      [bob, state],
      [alice, `${state.slice(0, -2)}AA`],
      [alice, `${state.split(".")[0]}.`],
      [alice, `${state}${"A".repeat(400)}`],
    ] as const)
      codes.push((await post(client, { requestState, inputResponses: ACCEPTED })).error?.code);
    expect(codes).toEqual([-32602, -32602, -32602, -32602]);
    expect(notes()).toEqual([]);
    expect(await decide(alice, result?.inputRequests?.approval.params.url ?? "", "refuse")).toBe(200);
  });

  test("of one call carries no other one through", async () => {
    const first = await post(alice, {});
    const state = first.result?.requestState ?? "";
    expect(await decide(alice, first.result?.inputRequests?.approval.params.url ?? "", "approve")).toBe(200);
    const other = await post(alice, { arguments: { text: `${text}!` }, requestState: state, inputResponses: ACCEPTED });
    // A new request, for its own approval.
    expect(other.result?.resultType).toBe("input_required");
    expect(other.result?.inputRequests?.approval.params.url).not.toBe(first.result?.inputRequests?.approval.params.url);
    expect(
      server.calls.filter(({ arguments: given }) => String((given as { text?: string }).text).startsWith(text)),
    ).toEqual([]);
    const passed = await post(alice, { requestState: state, inputResponses: ACCEPTED });
    expect(passed.result?.resultType).toBe("complete");
    expect(notes()).toHaveLength(1);
    expect(await decide(alice, other.result?.inputRequests?.approval.params.url ?? "", "refuse")).toBe(200);
  });

  test("of the upstream and its responses are shown for approval, and requested by the plain error", async () => {
    const foreign = await post(alice, { requestState: "upstream", inputResponses: { name: { action: "accept" } } });
    expect(foreign.error?.data["reason"]).toBe("approval-required");
    const page = await alice.oauth.browser.open(foreign.error?.data["approval_url"] ?? "");
    expect(page.text).toContain("Also sent: <bdi>requestState</bdi>");
    expect(page.text).toContain("inputResponses");
    expect(await decide(alice, page.url, "refuse")).toBe(200);
  });

  test("is never sent if another user approves", async () => {
    const reply = await post(bob, { name: "delete_repo", arguments: { repo: "x" } });
    expect(reply.error?.data).toMatchObject({ reason: "approval-required", approved_by: "group" });
    expect(await decide(bob, reply.error?.data["approval_url"] ?? "", "refuse")).toBe(200);
  });
});

test("a held call ends with the user's access, and with the configuration of its request", async () => {
  const resource = url().href;
  const passing = await signInClient({ resource, user: "bob@example.com", browser: bob.oauth.browser });
  const first = await post(passing, {});
  const held = post(passing, { requestState: first.result?.requestState, inputResponses: ACCEPTED });
  await passing.oauth.sendRevocation({
    token: passing.tokens.refresh_token ?? "",
    client_id: passing.registration.client_id,
  });
  // A decision about something else wakes it: it looks, and finds its approval gone.
  const other = await post(alice, { arguments: { text: `${text} other` } });
  expect(await decide(alice, other.result?.inputRequests?.approval.params.url ?? "", "refuse")).toBe(200);
  expect((await held) as object).toMatchObject({ error: "unauthorized" });

  const again = await post(alice, {});
  const waiting = post(alice, { requestState: again.result?.requestState, inputResponses: ACCEPTED });
  await world.reconfigure(POLICY("{origin}", server.origin).replace("is: delete_repo", "is: delete_note"));
  expect(await decide(alice, again.result?.inputRequests?.approval.params.url ?? "", "approve")).toBe(200);
  const bounced = await waiting;
  const passed =
    bounced.result?.resultType === "input_required"
      ? await post(alice, { requestState: bounced.result.requestState })
      : bounced;
  expect(passed.result?.resultType).toBe("complete");
  expect(notes()).toHaveLength(1);
});
