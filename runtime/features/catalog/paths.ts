/** Addresses of the catalog of MCP servers. */

/** Base URL for clients, which append `/v0.1/servers`. */
export const REGISTRY_PATH = "/.gateway/registry";
/** Below it, by name of the server. */
export const SERVER_CARDS_PATH = "/.gateway/server-cards";
/** The gateway's only where `mcp_catalog` is set: otherwise an application can have it. */
export const AI_CATALOG_PATH = "/.well-known/ai-catalog.json";
