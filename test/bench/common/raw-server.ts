/** An HTTP/1.1 server on raw sockets, the fastest that Node gives. Prints its port. */
import { createServer, type AddressInfo, type Socket } from "node:net";

/** @param answer gets the head of each request without its empty line, and the bytes of its body as Latin-1 */
export function serveRaw(
  answer: (socket: Socket, head: string, body: string) => void,
  onConnection: () => void = () => {},
): void {
  const server = createServer({ noDelay: true }, (socket) => {
    onConnection();
    let pending = "";
    socket.on("data", (chunk) => {
      pending += chunk.toString("latin1");
      for (;;) {
        const head = pending.indexOf("\r\n\r\n");
        if (head === -1) return;
        const length = /\r\ncontent-length: *(\d+)/i.exec(pending.slice(0, head + 2));
        const end = head + 4 + (length ? Number(length[1]) : 0);
        if (pending.length < end) return;
        answer(socket, pending.slice(0, head), pending.slice(head + 4, end));
        pending = pending.slice(end);
      }
    });
    socket.on("error", () => socket.destroy());
  });
  server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, () =>
    console.log((server.address() as AddressInfo).port),
  );
}

export function responseOf(body: string, type = "application/json", status = "200 OK"): Buffer {
  return Buffer.from(
    `HTTP/1.1 ${status}\r\ncontent-type: ${type}\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: keep-alive\r\n\r\n${body}`,
  );
}

/** Head of a response of events, each of which is a `chunkOf()`. */
export const EVENTS_HEAD = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

/** @param text ASCII */
export function chunkOf(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`;
}

/** Tools as MCP servers list them. */
export function benchTools(count: number): readonly object[] {
  const text = { type: "string", description: "The name of the repository that is meant" };
  return Array.from({ length: count }, (_, index) => ({
    name: `tool_${index}`,
    title: `Tool number ${index}`,
    description: "Reads issues of a repository, newest first, with their labels and who they are assigned to.",
    inputSchema: { type: "object", properties: { owner: text, repo: text }, required: ["owner"] },
  }));
}
