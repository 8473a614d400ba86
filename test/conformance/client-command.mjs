/** The client that the conformance suite starts: `node client-command.mjs SOCKET URL`. Hands on, prints what comes back. */
import { connect } from "node:net";
import { text } from "node:stream/consumers";

const [, , socketPath = "", url] = process.argv;
const {
  MCP_CONFORMANCE_CONTEXT: context = "{}",
  MCP_CONFORMANCE_PROTOCOL_VERSION: revision = "2025-11-25",
  MCP_CONFORMANCE_SCENARIO: scenario = "",
} = process.env;
const socket = connect(socketPath);
socket.end(JSON.stringify({ url, scenario, revision, context: JSON.parse(context) }));
const { ok, output } = JSON.parse(await text(socket));
console.log(output);
process.exitCode = ok ? 0 : 1;
