/** The greeting of a federated endpoint: both revisions, independent of those of its members. */
import { LEGACY, LEGACY_VERSIONS, MODERN } from "../../mcp/federation/eras.ts";
import { recordOf, type MessageJson } from "../../mcp/federation/json.ts";
import { VERSION } from "../../shared/version.ts";
import type { RequestContext } from "../request-context.ts";
import type { Gap } from "./gaps.ts";
import type { Link } from "./links.ts";

/** Bound of the instructions of all members together, in UTF-16 units. */
const MAX_INSTRUCTIONS = 4_096;
const MAX_OF_MEMBER = 1_024;
const SKILLS = "io.modelcontextprotocol/skills";

export interface Greeted {
  readonly links: readonly (Pick<Link, "member" | "greeting"> & { readonly session?: string | undefined })[];
  readonly gaps: readonly Gap[];
}

/** @param asked revision that the client asks for */
export function initializeResult(caller: RequestContext, greeted: Greeted, asked: unknown): MessageJson {
  const protocolVersion = typeof asked === "string" && LEGACY_VERSIONS.includes(asked) ? asked : LEGACY;
  return { protocolVersion, ...common(caller, greeted, withStream(greeted)), serverInfo: serverInfo(caller) };
}

/** Capabilities that need the stream of a session. */
function withStream({ links }: Greeted): MessageJson {
  const own = links
    .filter(({ session }) => session !== undefined)
    .map(({ greeting }) => recordOf(greeting?.["capabilities"]));
  const says = (kind: string, name: string): MessageJson =>
    own.some((capabilities) => recordOf(capabilities[kind])[name] === true) ? { [name]: true } : {};
  return {
    logging: {},
    tools: says("tools", "listChanged"),
    prompts: says("prompts", "listChanged"),
    resources: { ...says("resources", "listChanged"), ...says("resources", "subscribe") },
  };
}

export function discoverResult(caller: RequestContext, greeted: Greeted): MessageJson {
  return {
    supportedVersions: [MODERN],
    ...common(caller, greeted, {}),
    resultType: "complete",
    // What is missing now may be there at the next request.
    ttlMs: greeted.gaps.length > 0 ? 0 : 60_000,
    cacheScope: "private",
    _meta: { "io.modelcontextprotocol/serverInfo": serverInfo(caller) },
  };
}

/** Fixed, except for skills: what a member cannot do is an empty list, or an error of the call. */
function common(caller: RequestContext, { links, gaps }: Greeted, more: MessageJson): MessageJson {
  const hasSkills = links.some(({ greeting }) => {
    const { extensions } = recordOf(greeting?.["capabilities"]);
    return recordOf(extensions)[SKILLS] !== undefined;
  });
  const capabilities = { tools: {}, prompts: {}, resources: {}, completions: {}, ...more };
  return {
    capabilities: hasSkills ? { ...capabilities, extensions: { [SKILLS]: { directoryRead: true } } } : capabilities,
    instructions: instructionsOf(caller, links, gaps),
  };
}

function serverInfo({ prepared: { route } }: RequestContext): MessageJson {
  return { name: route.name, version: VERSION };
}

function instructionsOf(caller: RequestContext, links: Greeted["links"], gaps: readonly Gap[]): string {
  const parts = [
    `${caller.prepared.route.name} offers several MCP servers as one. Names of tools and prompts begin with their server: server__name.`,
  ];
  for (const { member, reason } of gaps) {
    const { name, origin } = member.prepared.route;
    // A policy may keep the member from this user.
    if (reason === "denied") continue;
    const why =
      reason === "not-connected"
        ? `is not connected: its user connects it at ${origin}/.gateway/`
        : "is unavailable at the moment";
    parts.push(`- ${member.prefix} (${name}) ${why}.`);
  }
  for (const { member, greeting } of links) {
    const own = greeting?.["instructions"];
    if (typeof own === "string" && own.trim() !== "")
      parts.push(`## ${member.prefix}\n\n${own.slice(0, MAX_OF_MEMBER)}`);
  }
  return parts.join("\n\n").slice(0, MAX_INSTRUCTIONS);
}
