import { setTimeout } from "node:timers/promises";

/** Events from before the stream are announced again. */
const AGAIN_MS = 500;

/** A session with an MCP server as it is on the wire, with `initialize` and the stream of GET. */
export interface Wire {
  readonly initialize: readonly unknown[];
  readonly initialized: number;
  readonly stream: number;
  readonly heard: string | undefined;
  readonly ended: number;
  readonly after: number;
}

export async function wireOf(url: string, token?: string): Promise<Wire> {
  const headers: Record<string, string> = {
    accept: "application/json, text/event-stream",
    "content-type": "application/json",
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  };
  const post = (message: object): Promise<Response> =>
    fetch(url, { method: "POST", headers, body: JSON.stringify({ jsonrpc: "2.0", ...message }) });
  const clientInfo = { name: "wire", version: "1" };
  const version = "2025-06-18";
  const greeting = await post({
    id: 1,
    method: "initialize",
    params: { protocolVersion: version, capabilities: {}, clientInfo },
  });
  const session = greeting.headers.get("mcp-session-id");
  const initialize = [
    greeting.status,
    greeting.headers.get("content-type"),
    session !== null,
    messageIn(await greeting.text()),
  ];
  headers["mcp-protocol-version"] = version;
  if (session !== null) headers["mcp-session-id"] = session;
  const initialized = (await post({ method: "notifications/initialized" })).status;
  // Java's server sends the head with the first event, and an event before it has the stream is lost.
  const opening = fetch(url, { headers });
  const listening = listen(opening);
  let heard: string | undefined;
  while (heard === undefined) {
    await (await post({ id: 2, method: "tools/call", params: { name: "announce", arguments: {} } })).text();
    heard = await Promise.race([listening, setTimeout(AGAIN_MS, undefined, { ref: false })]);
  }
  const ended = (await fetch(url, { method: "DELETE", headers })).status;
  const after = (await post({ id: 3, method: "tools/list" })).status;
  return { initialize, initialized, stream: (await opening).status, heard, ended, after };
}

/** @returns the method of the first notification */
async function listen(opening: Promise<Response>): Promise<string> {
  const reader = (await opening).body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  let heard: string | undefined;
  while (heard === undefined) {
    const next = await reader?.read();
    if (next?.value === undefined) break;
    text += next.value;
    heard = /"method":\s*"(notifications\/[a-z_/]+)"/.exec(text)?.[1];
  }
  await reader?.cancel();
  return heard ?? `nothing: ${text}`;
}

/** The first JSON-RPC message of a response, as JSON or as an event. */
function messageIn(text: string): unknown {
  return JSON.parse(/^data: ?(\{.*)$/m.exec(text)?.[1] ?? text);
}
