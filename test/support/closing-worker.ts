/** A worker of `cluster` that listens until it is told to close. */
import { createServer } from "node:net";

const server = createServer().listen(0, "127.0.0.1");
process.on("message", (message) => {
  if (message === "close") server.close();
});
