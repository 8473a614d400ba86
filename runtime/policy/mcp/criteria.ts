/** Criteria about MCP messages: tools and their arguments, prompts, resources, methods. */
import { type Criterion, asIs, text } from "../criterion.ts";
import type { Facts, McpFacts } from "../facts.ts";
import { compileStringMatch } from "../match.ts";
import { TOOL_CLASS_CRITERION } from "./tool-classes.ts";
import { TOOL_MATCH_SCHEMA, parseToolMatch } from "./tool-match.ts";
import { FALSE, type Truth, TRUE, UNKNOWN } from "../packed-outcome.ts";
import { ARGUMENT_MATCH_SCHEMA, readArgumentMatch } from "./argument-match.ts";
import { NumberToken } from "../../shared/canonical-json.ts";
import { workOf } from "./argument-find.ts";
import { UNCLEAR } from "./argument-values.ts";
import { mayBeSkillUri, normalResourceUri, normalResourceMatch } from "./resource-uri.ts";

export const TOOL_OK = "mcp-tool-ok";
export const NOT_A_TOOL_CALL = "mcp-not-a-tool-call";
export const OTHER_MESSAGE = "mcp-other-message";
export const ARGUMENT_UNKNOWN = "mcp-tool-argument-unknown";
const RESOURCE_OK = "mcp-resource-ok";
const RESOURCE_UNAUTHORIZED = "mcp-resource-unauthorized";
export const RESOURCE_UNKNOWN = "mcp-resource-unknown";

const ofToolCalls = { reason: NOT_A_TOOL_CALL, applies: ({ mcp }: Facts) => mcp?.method === "tools/call" };

/** Longer values are shown truncated. */
const MAX_SHOWN = 200;

export const MCP_CRITERIA: readonly Criterion[] = [
  {
    ...text("mcp_tool", asIs, toolName),
    schema: TOOL_MATCH_SCHEMA,
    read(data, _subPath, path, report) {
      const match = parseToolMatch(data, path, report);
      if (!match) return undefined;
      const matches = compileStringMatch(match, asIs);
      return { canonical: match, test: (facts) => matches(toolName(facts)) };
    },
    doc: "Tool of a tools/call message; false for other messages. Use it in deny rules: in the only allow rule it also denies initialize and tools/list. Case-sensitive, unless `fold_case: true` is set for servers that ignore case.",
    about: "tool",
    reasons: { ok: TOOL_OK, no: "mcp-tool-unauthorized" },
    ofOthers: ofToolCalls,
  },
  { ...TOOL_CLASS_CRITERION, ofOthers: ofToolCalls },
  {
    name: "mcp_tool_argument",
    takesPath: false,
    doc: "Argument of a tool call: tools, location (`argument`, a JSON pointer) and expected value. False for other tools and messages. Unknown if it is absent, has another type, or the policy's criteria would read more than 32 MiB of one call; the call then fails allow and deny rules. Numbers are compared exactly.",
    about: "tool",
    reasons: { ok: "mcp-tool-argument-ok", no: "mcp-tool-argument-unauthorized" },
    ofOthers: ofToolCalls,
    unknownReason: ARGUMENT_UNKNOWN,
    schema: ARGUMENT_MATCH_SCHEMA,
    read(data, _subPath, path, report, isChecked) {
      const read = readArgumentMatch(data, path, report, isChecked);
      if (!read) return undefined;
      const { match, matchesTool, pointer, needsNumbers, patterns } = read;
      const text = JSON.stringify(match);
      const find = (facts: Facts): Truth => {
        if (!matchesTool(toolName(facts))) return FALSE;
        const given = facts.mcp?.arguments;
        // When a tool is listed, the arguments of a later call are unknown.
        if (given === undefined) return UNKNOWN;
        const { work } = given;
        const known = work !== undefined && work.found.size > 0 ? work.found.get(text) : undefined;
        if (known !== undefined) return known;
        const value = given.find(pointer, needsNumbers);
        if (work === undefined) return read.find(value);
        const cost = workOf(value);
        if (cost <= FREE_WORK) return read.find(value);
        work.left -= cost;
        const outcome = work.left < 0 ? UNKNOWN : read.find(value);
        work.found.set(text, outcome);
        return outcome;
      };
      return {
        canonical: match,
        patterns,
        find,
        test: (facts) => find(facts) === TRUE,
        actual: (facts) => shown(facts.mcp?.arguments?.find(pointer, true)),
      };
    },
    actual: () => "",
  },
  {
    ...text("mcp_prompt", asIs, ({ mcp }) => mcp?.prompt ?? ""),
    doc: "Prompt of a prompts/get or completion/complete message; false for other messages.",
    about: "message",
    reasons: { ok: "mcp-prompt-ok", no: "mcp-prompt-unauthorized" },
    ofOthers: { reason: OTHER_MESSAGE, applies: ({ mcp }) => mcp?.prompt !== undefined },
  },
  {
    ...text("mcp_resource", asIs, resourceOf, normalResourceMatch),
    doc: "URI of the resource that a message reads, subscribes to or completes, normalized (scheme and host in lower case, no unnecessary escapes); false for other messages. Unknown for ambiguous URIs (`..`, `%2F`, an empty segment), which then fail allow and deny rules.",
    about: "message",
    reasons: { ok: RESOURCE_OK, no: RESOURCE_UNAUTHORIZED },
    ofOthers: { reason: OTHER_MESSAGE, applies: ({ mcp }) => mcp?.resource !== undefined },
    unknownReason: RESOURCE_UNKNOWN,
    isUnknown: (facts) => resourceOf(facts) === "",
  },
  {
    ...text("mcp_skill", asIs, skillOf, normalResourceMatch),
    doc: "URI of a skill or one of its files, normalized like `mcp_resource`: of a `skills/get` message, and of messages that read or subscribe to `skill:` resources; false for other messages. Directories end with `/`. Skills under other schemes: their files are matched by `mcp_resource` only.",
    about: "message",
    // A skill is a set of resources, and a policy has room for 50 reasons.
    reasons: { ok: RESOURCE_OK, no: RESOURCE_UNAUTHORIZED },
    ofOthers: { reason: OTHER_MESSAGE, applies: ({ mcp }) => mcp !== undefined && isAboutSkill(mcp) },
    unknownReason: RESOURCE_UNKNOWN,
    isUnknown: ({ mcp }) => mcp !== undefined && isAboutSkill(mcp) && resourceOf({ mcp }) === "",
  },
  {
    ...text("mcp_method", asIs, ({ mcp }) => mcp?.method ?? ""),
    doc: "Method of the message, such as `resources/read`; false for requests without one (GET, DELETE) and for responses.",
    about: "message",
    reasons: { ok: "mcp-method-ok", no: "mcp-method-unauthorized" },
    ofOthers: { reason: OTHER_MESSAGE, applies: ({ mcp }) => mcp?.method !== undefined },
  },
];

/** Short values cost practically nothing, since the number of criteria is limited at load. */
const FREE_WORK = 256;

/** Whether the message is about a skill as far as the message alone shows it. */
function isAboutSkill({ method, resource }: McpFacts): boolean {
  return resource !== undefined && (method === "skills/get" || mayBeSkillUri(resource));
}

/** "" for other messages. A directory gets the slash that the prefixes of its files have, so that one rule is about both. */
function skillOf({ mcp }: Facts): string {
  if (mcp === undefined || !isAboutSkill(mcp)) return "";
  const uri = resourceOf({ mcp });
  return mcp.method !== "resources/directory/read" || uri === "" || uri.endsWith("/") ? uri : `${uri}/`;
}

/** "" for a URI without a normal form. */
function resourceOf({ mcp }: Pick<Facts, "mcp">): string {
  const uri = mcp?.resource ?? "";
  if (lastUri.text !== uri) lastUri = { text: uri, spelled: normalResourceUri(uri) ?? "" };
  return lastUri.spelled;
}

/** Cache: consecutive rules of a policy check the same URI. */
let lastUri = { text: "", spelled: "" };

/**
 * @throws if a `tools/call` has no tool name: mcp/message.ts rejects such messages, so this is a bug, and the request
 *   is denied
 */
function toolName(facts: Facts): string {
  const tool = facts.mcp?.tool;
  if (tool === undefined) throw new Error("Cannot evaluate mcp_tool: the message names no tool");
  return tool;
}

function shown(value: unknown): string {
  if (value === undefined) return "";
  if (value === UNCLEAR) return "(not clear)";
  const json = JSON.stringify(value, (_, each: unknown) => (each instanceof NumberToken ? Number(each.text) : each));
  return json.length > MAX_SHOWN ? `${json.slice(0, MAX_SHOWN)}…` : json;
}
