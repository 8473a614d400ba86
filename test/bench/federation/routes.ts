/** Routes of members and of federated endpoints, and what clients send to them. */
const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

function route(port: number, name: string, rest: string): string {
  return (
    `  - { name: ${name}, from: "http://localhost:${port}", prefix: /${name}, ${rest},\n` +
    "      policy: [{ allow: { and: [{ domain: { is: example.com } }] } }, { deny: { or: [{ mcp_tool: { starts_with: delete_ } }] } }] }\n"
  );
}

/**
 * YAML. @param upstream origin of members.ts @param name of a server there @param more further members of `mcp.server`
 */
export function memberRoute(port: number, upstream: string, name: string, more = ""): string {
  return route(port, name, `to: "${upstream}", mcp: { server: { path: /${name}, max_request_bytes: 65536${more} } }`);
}

/** YAML: the members are called m0, m1, … @param members names of routes */
export function federatedRoute(port: number, name: string, members: readonly string[], more = ""): string {
  const named = members.map((each, at) => `m${at}: ${each}`).join(", ");
  return route(port, name, `mcp: { server: { members: { ${named} }, max_request_bytes: 65536${more} } }`);
}

export interface Asking {
  readonly port: number;
  readonly path: string;
  readonly token: string;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** Undefined: of revision 2026-07-28. */
  readonly session?: string;
}

export function memberRequest({ port, path, token, method, params, session }: Asking): Buffer {
  const isModern = session === undefined;
  const body = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method,
    params: { ...params, ...(isModern && { _meta: META }) },
  });
  const name = typeof params["name"] === "string" ? [`mcp-name: ${params["name"]}`] : [];
  const head = [
    `POST ${path} HTTP/1.1`,
    `host: localhost:${port}`,
    "user-agent: bench/1.0",
    "accept-language: en",
    "accept: application/json, text/event-stream",
    `authorization: Bearer ${token}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    `mcp-protocol-version: ${isModern ? "2026-07-28" : "2025-11-25"}`,
    ...(isModern ? [`mcp-method: ${method}`, ...name] : []),
    ...(session === undefined || session === "" ? [] : [`mcp-session-id: ${session}`]),
  ];
  return Buffer.from(`${head.join("\r\n")}\r\n\r\n${body}`);
}
