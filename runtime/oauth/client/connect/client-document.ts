/**
 * Our client ID metadata document, for upstream authorization servers that support such documents.
 *
 * One per host, since the callback is on the host. Served only if some route uses it.
 */
import type { Snapshot } from "../../../config/snapshot.ts";
import type { Exchange } from "../../../http/exchange.ts";
import { respondError, respondJson } from "../../../http/respond.ts";
import { clientMetadata } from "./register.ts";
import { CLIENT_DOCUMENT_PATH, findTarget } from "../target.ts";

export function respondClientDocument(exchange: Exchange, snapshot: Snapshot): void {
  const route = snapshot.routes.find((each) => each.host === exchange.host && findTarget(each)?.mode === "discovery");
  if (!route) {
    respondError(exchange, 404, { code: "upstream.no-client-document", message: "There is no such document here." });
    return;
  }
  respondJson(
    exchange,
    200,
    {
      client_id: route.origin + CLIENT_DOCUMENT_PATH,
      ...clientMetadata(route),
      client_name: `MCP gateway at ${route.hostname}`,
      token_endpoint_auth_method: "none",
    },
    ["cache-control", "public, max-age=3600"],
  );
}
