/** Tables of runtime/reference/endpoints.md. */
import {
  ADMIN_ENDPOINTS,
  MCP_ENDPOINTS,
  PUBLIC_ENDPOINTS,
  type ReferenceEndpoint,
} from "../../config/surfaces/reference-endpoints.ts";
import { code, table } from "./parts.ts";

export function endpointParts(): Readonly<Record<string, string>> {
  return { public: rows(PUBLIC_ENDPOINTS), mcp: rows(MCP_ENDPOINTS), admin: rows(ADMIN_ENDPOINTS) };
}

function rows(endpoints: readonly ReferenceEndpoint[]): string {
  return table(
    ["Path", "Methods", "Description"],
    endpoints.map(({ path, methods, about }) => [code(path), methods.join(", "), about]),
  );
}
