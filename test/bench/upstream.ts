/** The fastest upstream Node gives: raw sockets, one fixed small JSON answer. `node upstream.ts` prints its port. */
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";

const body = '{"ok":true,"items":[1,2,3],"message":"hello from the upstream of the benchmark"}';
const answer = Buffer.from(
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: keep-alive\r\n\r\n${body}`,
);

const server = createServer({ noDelay: true }, (socket) => {
  let pending = "";
  socket.on("data", (chunk) => {
    pending += chunk.toString("latin1");
    for (;;) {
      const head = pending.indexOf("\r\n\r\n");
      if (head === -1) return;
      const length = /\r\ncontent-length: *(\d+)/i.exec(pending.slice(0, head + 2));
      const end = head + 4 + (length ? Number(length[1]) : 0);
      if (pending.length < end) return;
      pending = pending.slice(end);
      socket.write(answer);
    }
  });
  socket.on("error", () => socket.destroy());
});
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
