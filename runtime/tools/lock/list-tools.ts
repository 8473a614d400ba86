/**
 * The tools, prompts, resource templates and instructions of an MCP server for one user, requested like a client: first
 * in revision 2026-07-28, then with a session.
 *
 * Trusted input: the address, and the token, which is sent nowhere else. Untrusted input: all responses. Promises:
 * bounded in pages, tools, bytes and time; definitions are returned exactly as listed; no error contains the token.
 */
import { LOCKABLE, type LockedKind } from "../../features/mcp/locked-items.ts";
import { createOperatorFetch, type OperatorFetch } from "../../http/fetch/operator-fetch.ts";
import { visibleJson, toolOf, type LockedTool } from "../../features/mcp/tool-lock-file.ts";
import { EventBlocks } from "../../mcp/lists/event-blocks.ts";
import { ACCESS_DENIED_CODE } from "../../mcp/refuse.ts";
import { GatewayError } from "../../shared/errors.ts";
import { NumberToken } from "../../shared/canonical-json.ts";
import { parseExactJson, type ExactJson, type ExactObject } from "../../shared/json/exact-json.ts";

const MODERN = "2026-07-28";
const LEGACY = "2025-11-25";
const CLIENT = { name: "gateway-tools", version: "1" };
const TIMEOUT_MS = 30_000;
const MAX_BYTES = 8 * 1024 * 1024;
const MAX_PAGES = 64;
/** Limit for all pages together: gateways do not read larger locks. */
const MAX_ALL_BYTES = 16 * 1024 * 1024;
const MAX_ALL_MS = 120_000;
const MAX_TOOLS = 10_000;
/** The server has no such method, or policy denies it to the user, who then sees nothing. */
const NONE: ReadonlySet<string> = new Set(["-32601", String(ACCESS_DENIED_CODE)]);

export interface Asker {
  /** Address of the MCP server for users. */
  readonly url: string;
  /** External Token. */
  readonly token: string;
}

/** @throws GatewayError `tools.list`, `fetch.…` */
export async function listTools(
  { url, token }: Asker,
  fetch: OperatorFetch = createOperatorFetch({ timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES }),
): Promise<readonly LockedTool[]> {
  const server = new Server(url, token, fetch);
  const first = await server.ask("tools/list", undefined);
  if (first.result) {
    const tools = await readPages(server, "tool", first.result);
    return [...tools, ...(await readOthers(server, await server.askIfAny("server/discover")))];
  }
  // A server without this revision does not answer in its form (MCP 2026-07-28, backward compatibility).
  if (first.status === 401 || first.status === 403 || first.status >= 500) throw first.refusal();
  const greeting = await server.open();
  try {
    const opened = await server.ask("tools/list", undefined);
    if (!opened.result) throw opened.refusal();
    const tools = await readPages(server, "tool", opened.result);
    return [...tools, ...(await readOthers(server, greeting))];
  } finally {
    await server.close();
  }
}

/** @param greeting contains the instructions */
async function readOthers(server: Server, greeting: ExactObject | undefined): Promise<readonly LockedTool[]> {
  const found: LockedTool[] = [];
  for (const kind of ["prompt", "template", "skill"] as const) {
    const first = await server.askIfAny(LOCKABLE[kind].methods[0]);
    if (first) found.push(...(await readPages(server, kind, first)));
  }
  const text = greeting?.get(LOCKABLE.instructions.member) ?? null;
  const instructions = toolOf(text, "instructions");
  if (text !== null && !instructions) throw server.failure("its instructions are not a text");
  return instructions ? [...found, instructions] : found;
}

async function readPages(
  server: Server,
  kind: Exclude<LockedKind, "instructions">,
  first: ExactObject,
): Promise<readonly LockedTool[]> {
  const { member, word, methods } = LOCKABLE[kind];
  const found: LockedTool[] = [];
  const cursors = new Set<string>();
  for (let page = first; ;) {
    const tools = page.get(member);
    if (!Array.isArray(tools)) throw server.failure(`it lists no ${word}s`);
    for (const item of tools as readonly ExactJson[]) {
      // An entry without digests of its files cannot be compared: `on_drift` decides about the skill.
      if (kind === "skill" && item instanceof Map && !Array.isArray(item.get("resources"))) continue;
      const tool = toolOf(item, kind);
      if (!tool) throw server.failure(`it lists a ${word} without a name`);
      found.push(tool);
    }
    if (found.length > MAX_TOOLS) throw server.failure(`it lists more than ${MAX_TOOLS} ${word}s`);
    const cursor = page.get("nextCursor");
    if (typeof cursor !== "string") return found;
    if (cursors.has(cursor)) throw server.failure("its list returns to an earlier page");
    if (cursors.add(cursor).size === MAX_PAGES) throw server.failure(`its list has more than ${MAX_PAGES} pages`);
    const next = await server.ask(methods[0], cursor);
    if (!next.result) throw next.refusal();
    page = next.result;
  }
}

interface Message {
  readonly jsonrpc: "2.0";
  readonly id?: number;
  readonly method: string;
  readonly params?: object;
}

interface Answer {
  readonly status: number;
  readonly result: ExactObject | undefined;
  /** Nothing of this kind is visible to this user. */
  readonly isNone: boolean;
  refusal(): GatewayError;
}

class Server {
  readonly #url: string;
  readonly #token: string;
  readonly #fetch: OperatorFetch;
  readonly #endMs = performance.now() + MAX_ALL_MS;
  #bytes = 0;
  #lastId = 0;
  #isModern = true;
  #session: string | undefined;

  constructor(url: string, token: string, fetch: OperatorFetch) {
    this.#url = url;
    this.#token = token;
    this.#fetch = fetch;
  }

  failure(why: string): GatewayError {
    return new GatewayError("tools.list", `Cannot list the tools of "${this.#url}": ${why}`);
  }

  /** @throws GatewayError when that is unknown */
  async askIfAny(method: string): Promise<ExactObject | undefined> {
    const answer = await this.ask(method, undefined);
    if (!answer.result && !answer.isNone) throw answer.refusal();
    return answer.result;
  }

  /** @param cursor of the page; undefined: the first */
  ask(method: string, cursor: string | undefined): Promise<Answer> {
    const meta = {
      "io.modelcontextprotocol/protocolVersion": MODERN,
      "io.modelcontextprotocol/clientCapabilities": {},
      "io.modelcontextprotocol/clientInfo": CLIENT,
    };
    const params = { ...(cursor !== undefined && { cursor }), ...(this.#isModern && { _meta: meta }) };
    return this.#post(method, params);
  }

  /** Starts a session. @returns the server's description of itself */
  async open(): Promise<ExactObject> {
    this.#isModern = false;
    const params = { protocolVersion: LEGACY, capabilities: {}, clientInfo: CLIENT };
    const answer = await this.#post("initialize", params);
    if (!answer.result) throw answer.refusal();
    await this.#send({ jsonrpc: "2.0", method: "notifications/initialized" });
    return answer.result;
  }

  async close(): Promise<void> {
    if (this.#session === undefined) return;
    // Servers may have no such request, and then end the session themselves.
    await this.#fetch(this.#url, { method: "DELETE", headers: this.#headers() }).catch(() => undefined);
  }

  async #post(method: string, params: object): Promise<Answer> {
    this.#lastId += 1;
    const id = this.#lastId;
    const response = await this.#send({ jsonrpc: "2.0", id, method, params });
    const { status } = response;
    const body = Buffer.from(await response.arrayBuffer());
    this.#bytes += body.length;
    if (this.#bytes > MAX_ALL_BYTES) throw this.failure(`its pages have more than ${MAX_ALL_BYTES} bytes`);
    if (performance.now() > this.#endMs) throw this.failure(`its pages take more than ${MAX_ALL_MS} ms`);
    this.#session ??= (method === "initialize" && response.headers.get("mcp-session-id")) || undefined;
    const message = answerTo(String(id), body, response);
    const result = message?.get("result");
    const error = message?.get("error");
    const code = error instanceof Map ? (error as ExactObject).get("code") : undefined;
    return {
      status,
      isNone: code instanceof NumberToken && NONE.has(code.text),
      result: status === 200 && result instanceof Map ? (result as ExactObject) : undefined,
      refusal: () => this.failure(refusalText(status, error)),
    };
  }

  #send(message: Message): Promise<Response> {
    const headers = { ...this.#headers(), "content-type": "application/json", "mcp-method": message.method };
    return this.#fetch(this.#url, { method: "POST", headers, body: JSON.stringify(message) });
  }

  #headers(): Readonly<Record<string, string>> {
    return {
      authorization: `Bearer ${this.#token}`,
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": this.#isModern ? MODERN : LEGACY,
      // Reviewers must see what the lock hides from others (proxy/lists/tool-lock.ts).
      "x-gateway-tool-lock": "show",
      ...(this.#session !== undefined && { "mcp-session-id": this.#session }),
    };
  }
}

/** @returns undefined when the body has no such response */
function answerTo(id: string, body: Buffer, { headers }: Response): ExactObject | undefined {
  const isEvents = headers.get("content-type")?.startsWith("text/event-stream") === true;
  if (!isEvents) return messageOf(body, id);
  const blocks = new EventBlocks(MAX_BYTES).push(body) ?? [];
  for (const block of blocks) {
    const message = block.kind === "event" ? messageOf(block.data, id) : undefined;
    if (message) return message;
  }
  return undefined;
}

/** A response; errors about unreadable requests have no ID. */
function messageOf(bytes: Buffer, id: string): ExactObject | undefined {
  const message = parseExactJson(bytes.toString("utf8"));
  if (!(message instanceof Map)) return undefined;
  const own = (message as ExactObject).get("id");
  const isOwn = own instanceof NumberToken ? own.text === id : message.has("error");
  return isOwn && !message.has("method") ? (message as ExactObject) : undefined;
}

function refusalText(status: number, error: ExactJson | undefined): string {
  if (status === 401) return "it does not accept the token";
  const text = error instanceof Map ? (error as ExactObject).get("message") : undefined;
  const quoted = typeof text === "string" ? ` ${visibleJson(text.slice(0, 300))}` : "";
  return status === 200
    ? `it answers${quoted === "" ? " with something other than a list" : quoted}`
    : `it answers ${status}${quoted}`;
}
