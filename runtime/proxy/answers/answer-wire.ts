/** The gateway's own responses on MCP server routes. */
import { respondBytes } from "../../http/respond.ts";
import type { WireAnswer } from "../../mcp/refuse.ts";
import { routeCorsHeaders } from "../cors.ts";
import type { RequestContext } from "../request-context.ts";

export function answerWire(
  context: RequestContext,
  wire: Omit<WireAnswer, "body"> & { readonly body: Buffer | string },
): void {
  const { exchange } = context;
  const cors = routeCorsHeaders(context.corsOrigin);
  const body = typeof wire.body === "string" ? Buffer.from(wire.body) : wire.body;
  context.operation?.see(body);
  respondBytes(
    exchange,
    wire.status,
    ["x-request-id", exchange.id, "content-length", String(body.length), ...wire.headers, ...cors],
    body,
  );
}
