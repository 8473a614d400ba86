/** The greeting of a federated endpoint: both revisions, independent of those of its members. */
import { iconPath } from "../../features/catalog/icon.ts";
import { LEGACY, LEGACY_VERSIONS, MODERN } from "../../mcp/federation/eras.ts";
import { recordOf, type MessageJson } from "../../mcp/federation/json.ts";
import { TASKS_EXTENSION_NAME } from "../../mcp/tasks/task-requests.ts";
import { VERSION } from "../../shared/version.ts";
import type { FederatedSessions } from "../../mcp/federation/sessions.ts";
import { bindingOf } from "../announced-address.ts";
import type { RequestContext } from "../request-context.ts";
import { SELF } from "./client.ts";
import { discoveryInstructions } from "./discovery/find-tools.ts";
import type { Gap, Gaps } from "./gaps.ts";
import type { Link, Links } from "./links.ts";
import { askAll, openAll, type AskingClient } from "./lists/collect.ts";
import { membersOf } from "./members.ts";
import { ClientReply } from "./reply.ts";

/** Bound of the instructions of all members together, in UTF-16 units. */
const MAX_INSTRUCTIONS = 4_096;
const MAX_OF_MEMBER = 1_024;
const SKILLS = "io.modelcontextprotocol/skills";

/** Never waits for a member longer. */
const GREET_MS = 2_000;

export interface GreetDeps {
  readonly links: Links;
  readonly gaps: Gaps;
  readonly federatedSessions: FederatedSessions;
}

export async function discover(
  { links, gaps: told }: GreetDeps,
  context: RequestContext,
  reply: ClientReply,
): Promise<void> {
  const { answers, gaps } = await askAll(membersOf(context), (member) => links.greet(context, member, GREET_MS));
  told.tellAll(context, gaps);
  reply.result(
    discoverResult(context, { links: answers.map(({ member, answer: greeting }) => ({ member, greeting })), gaps }),
  );
}

export async function initialize(
  { links, gaps: told, federatedSessions }: GreetDeps,
  context: RequestContext,
  client: AskingClient,
  body: MessageJson,
): Promise<void> {
  const params = recordOf(body["params"]);
  const fresh = { ...client, sessions: undefined };
  const opened = await openAll(links, context, membersOf(context), fresh, GREET_MS, true);
  const gaps = [...opened.gaps];
  const greetings = await Promise.all(
    opened.links.map(async ({ member, greeting, session }) => {
      const known = greeting ?? (await links.greet(context, member, GREET_MS));
      if (typeof known === "string") gaps.push({ member, reason: known });
      return { member, session, greeting: typeof known === "string" ? undefined : known };
    }),
  );
  told.tellAll(context, gaps);
  const sessions = new Map([[SELF, JSON.stringify(client.legacyCapabilities)]]);
  // Members without sessions are found by their revision, which is known.
  for (const { member, isModern, version, session } of opened.links)
    if (!isModern && session !== undefined) sessions.set(member.prefix, `${version} ${session}`);
  const sealed = federatedSessions.seal(sessions, bindingOf(context));
  const result = initializeResult(context, { links: greetings, gaps }, params["protocolVersion"]);
  new ClientReply(context, ["mcp-session-id", sealed]).result(result);
}

interface Greeted {
  readonly links: readonly (Pick<Link, "member" | "greeting"> & { readonly session?: string | undefined })[];
  readonly gaps: readonly Gap[];
}

/** @param asked revision that the client asks for */
function initializeResult(caller: RequestContext, greeted: Greeted, asked: unknown): MessageJson {
  const protocolVersion = typeof asked === "string" && LEGACY_VERSIONS.includes(asked) ? asked : LEGACY;
  return { protocolVersion, ...common(caller, greeted, withStream(greeted)), serverInfo: serverInfo(caller) };
}

/** For revisions with sessions. The stream of a session also has the gateway's own changes. */
function withStream({ links }: Greeted): MessageJson {
  const own = links
    .filter(({ session }) => session !== undefined)
    .map(({ greeting }) => recordOf(greeting?.["capabilities"]));
  const subscribe = own.some((capabilities) => recordOf(capabilities["resources"])["subscribe"] === true);
  const tasks = own
    .map((capabilities) => recordOf(capabilities["tasks"]))
    .filter((each) => each["requests"] !== undefined);
  return {
    logging: {},
    ...LISTS_CHANGE,
    resources: { listChanged: true, ...(subscribe && { subscribe }) },
    ...(tasks.length > 0 && {
      tasks: {
        ...(tasks.some((each) => each["cancel"] !== undefined) && { cancel: {} }),
        requests: { tools: { call: {} } },
      },
    }),
  };
}

const LISTS_CHANGE = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true },
};

function discoverResult(caller: RequestContext, greeted: Greeted): MessageJson {
  return {
    supportedVersions: [MODERN],
    ...common(caller, greeted, { ...LISTS_CHANGE, resources: { listChanged: true, subscribe: true } }),
    resultType: "complete",
    // What is missing now may be there at the next request.
    ttlMs: greeted.gaps.length > 0 ? 0 : 60_000,
    cacheScope: "private",
    _meta: { "io.modelcontextprotocol/serverInfo": serverInfo(caller) },
  };
}

/** Fixed, except for extensions: what a member cannot do is an empty list, or an error of the call. */
function common(caller: RequestContext, { links, gaps }: Greeted, more: MessageJson): MessageJson {
  const own = links.map(({ greeting }) => recordOf(recordOf(greeting?.["capabilities"])["extensions"]));
  const extensions = {
    ...(own.some((each) => each[SKILLS] !== undefined) && { [SKILLS]: { directoryRead: true } }),
    ...(own.some((each) => each[TASKS_EXTENSION_NAME] !== undefined) && { [TASKS_EXTENSION_NAME]: {} }),
  };
  const capabilities = { completions: {}, ...more };
  const isEmpty = Object.keys(extensions).length === 0;
  return {
    capabilities: isEmpty ? capabilities : { ...capabilities, extensions },
    instructions: instructionsOf(caller, links, gaps),
  };
}

function serverInfo({ prepared: { route } }: RequestContext): MessageJson {
  const { title, description, version, documentationUrl, icon } = route.about;
  return {
    name: route.name,
    ...(title !== route.name && { title }),
    version: version ?? VERSION,
    ...(description !== undefined && { description }),
    ...(documentationUrl !== undefined && { websiteUrl: documentationUrl }),
    ...(icon && { icons: [{ src: route.origin + iconPath(icon), mimeType: icon.type }] }),
  };
}

function instructionsOf(caller: RequestContext, links: Greeted["links"], gaps: readonly Gap[]): string {
  const parts = [
    `${caller.prepared.route.name} offers several MCP servers as one. Names of tools and prompts begin with their server: server__name.`,
  ];
  const hint = discoveryInstructions(caller);
  if (hint !== undefined) parts.push(hint);
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
