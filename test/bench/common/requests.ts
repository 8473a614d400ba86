/** What clients send: bytes of whole requests, as browsers and SDKs send them. */

const MCP_ACCEPT = "accept: application/json, text/event-stream";

/** What browsers and SDKs send beside the credential: eight headers in all. */
function head(first: string, host: string, credential: string): string {
  return `${first} HTTP/1.1\r\nhost: ${host}\r\nuser-agent: bench/1.0\r\naccept-language: en\r\nx-request-source: bench\r\nx-debug: 1\r\n${credential}\r\n`;
}

function getRequest(host: string, path: string, credential: string): Buffer {
  return Buffer.from(`${head(`GET ${path}`, host, credential)}\r\n`);
}

export function webRequest(port: number, cookie: string, path?: string): Buffer {
  return itemsRequest(port, `cookie: ${cookie}`, path);
}

/** @param credential one or more lines of headers */
export function itemsRequest(port: number, credential: string, path = "/web/items"): Buffer {
  return getRequest(`localhost:${port}`, path, `accept: application/json\r\n${credential}`);
}

/** It asks for no event stream, which must be answered by one. @param bearer the whole value of Authorization */
export function mcpRequest(port: number, bearer: string): Buffer {
  return getRequest(`localhost:${port}`, "/mcp", `accept: application/json\r\nauthorization: ${bearer}`);
}

/** 57 nested objects: a harsh body for whoever reads it. @param bearer the whole value of Authorization */
export function messageRequest(port: number, bearer: string): Buffer {
  const items = Array.from({ length: 57 }, (_, index) => ({
    id: index,
    name: `item ${index}`,
    tags: { a: "one", b: "two" },
  }));
  const body = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "create_issue", arguments: { repo: "gateway", items, text: "x".repeat(790) } },
  });
  return postRequest(port, "/mcp", `authorization: ${bearer}`, body);
}

/** An MCP message. @param credential one or more lines of headers */
export function postRequest(port: number, path: string, credential: string, body: string): Buffer {
  const headers = head(`POST ${path}`, `localhost:${port}`, `${MCP_ACCEPT}\r\n${credential}`);
  return Buffer.from(
    `${headers}content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}
