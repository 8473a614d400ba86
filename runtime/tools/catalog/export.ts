/** `gateway catalog export`: managed settings of a client that allow the MCP servers of a configuration. */
import { readSources } from "../../bundle/sources.ts";
import { type CheckedConfig, formatProblem, loadSlices } from "../../config/load.ts";
import { REGISTRY_PATH } from "../../features/catalog/paths.ts";
import { serverId } from "../../features/mcp/client-setups.ts";
import { baseOf, compileMatch } from "../../features/routing/compile.ts";
import { parseFrom } from "../../features/routing/from.ts";
import { accepted, parseOrigin } from "../../settings/values.ts";
import { GatewayError } from "../../shared/errors.ts";
import { trimSlash } from "../../shared/http/trim-slash.ts";
import {
  MANAGED_CLIENT_NAMES,
  MANAGED_CLIENTS,
  type ExportedCatalog,
  type ExportedServer,
  type ManagedClientName,
} from "./clients.ts";

/** @returns the file's text @throws GatewayError `config.invalid`, `catalog.export` */
export async function exportCatalog(path: string, client: string): Promise<string> {
  if (!isManagedClient(client))
    throw new GatewayError(
      "catalog.export",
      `Cannot export for "${client}": it must be one of ${MANAGED_CLIENT_NAMES.join(", ")}`,
    );
  const { config, problems } = loadSlices(await readSources([path]));
  if (!config) {
    const errors = problems.filter(({ severity }) => severity === "error").map(formatProblem);
    throw new GatewayError("config.invalid", errors.join("\n"));
  }
  return MANAGED_CLIENTS[client].text(catalogOf(config));
}

function isManagedClient(name: string): name is ManagedClientName {
  return Object.hasOwn(MANAGED_CLIENTS, name);
}

export function catalogOf({ routes, settings }: Pick<CheckedConfig, "routes" | "settings">): ExportedCatalog {
  const servers = new Map<string, ExportedServer>();
  for (const { key, name, doc } of routes.toSorted((one, other) => (one.key < other.key ? -1 : 1))) {
    const server = doc.mcp?.server;
    if (!server) continue;
    const url = accepted(parseFrom(doc.from)).origin + baseOf(compileMatch(doc)) + trimSlash(server.path ?? "");
    // The name that the portal's instructions use, as long as it names one server.
    const short = serverId(name);
    const id = servers.has(short) ? serverId(key) : short;
    if (servers.has(id))
      throw new GatewayError("catalog.export", `Cannot export: two servers have the ID "${id}". Rename a route`);
    servers.set(id, { id, url });
  }
  const { authenticate_service_url: pages, mcp_catalog: catalog } = settings;
  const [first] = routes.filter(({ doc }) => doc.mcp?.server).map(({ doc }) => accepted(parseFrom(doc.from)).origin);
  const origin = pages === undefined ? first : accepted(parseOrigin(pages)).origin;
  return {
    servers: [...servers.values()].toSorted((one, other) => (one.id < other.id ? -1 : 1)),
    registry: catalog === "public" && origin !== undefined ? origin + REGISTRY_PATH : undefined,
  };
}
