/**
 * An upstream that closes its connections without saying so: `node closing-upstream.ts EVERY AFTER_MS` prints its port.
 *
 * Each connection is closed behind its EVERY-th answer, AFTER_MS later (0: at once). From that answer on it reads nothing
 * more, so that a request that comes meanwhile is lost, as with a server that counts or restarts.
 */
import { createServer, type AddressInfo, type Socket } from "node:net";

import { takeRequest } from "../../support/victim.ts";

const every = Number(process.argv[2]);
const afterMs = Number(process.argv[3]);
const body = '{"jsonrpc":"2.0","id":1,"result":{}}';
const answer = Buffer.from(
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
);

const server = createServer({ noDelay: true }, (socket) => {
  let answers = 0;
  let pending: Buffer = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    for (let taken = takeRequest(pending); taken && answers < every; taken = takeRequest(pending)) {
      pending = taken.rest;
      answers += 1;
      socket.write(answer);
    }
    if (answers === every) close(socket);
  });
  socket.on("error", () => socket.destroy());
});
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));

/** Both directions: what a client still sends is answered by a reset. */
function close(socket: Socket): void {
  socket.removeAllListeners("data");
  socket.pause();
  if (afterMs === 0) socket.destroySoon();
  else setTimeout(() => socket.destroy(), afterMs);
}
