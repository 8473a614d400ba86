/**
 * The suites about bytes on connections of HTTP/1.1, once more, over Node's server (`http1_server: node`), which is the way
 * back: each stands in its own file and is the same for both.
 */
import { describe } from "vitest";

import { useNodeHttp1Server } from "../support/http1-server.ts";

const SUITES = [
  "pipelined",
  "repeated-fields",
  "same-request",
  "smuggling",
  "stalled-clients",
  "trailers",
  "../runtime/http/listener/prior-knowledge",
  "../runtime/http/listener/unanswered",
  "../runtime/proxy/forwarding/websocket",
];

describe.each(SUITES)("%s", async (name) => {
  useNodeHttp1Server();
  // Under another address: these may have been loaded for a run of their own.
  await import(new URL(`${name}.test.ts?node`, import.meta.url).href);
});
