/**
 * `find_tools` and `use_tool`, which a federated route lists instead of very many tools. A use is rewritten into the plain call
 * of the tool before anything is decided, so that policies, approvals and records are about the real tool. Pure.
 *
 * The names have no "__": no member's tool can have them.
 */
import { isRecord } from "../../shared/is-record.ts";
import { recordOf, readMessage, writeMessage, type MessageJson } from "./json.ts";

export const FIND_TOOLS = "find_tools";
export const USE_TOOL = "use_tool";

export const MAX_QUERY = 1_000;
export const DEFAULT_FOUND = 8;
export const MAX_FOUND = 20;

/** Definitions for the list. @param count of the tools that are not listed */
export function discoveryTools(count: number): readonly MessageJson[] {
  return [
    {
      name: FIND_TOOLS,
      title: "Find tools",
      description: `Searches ${count} tools of this server by words, and returns their definitions. They are not listed: search before you say that something is not possible.`,
      inputSchema: {
        type: "object",
        properties: {
          query: { type: "string", description: 'Words for the task, such as "create an issue"' },
          limit: { type: "integer", minimum: 1, maximum: MAX_FOUND, default: DEFAULT_FOUND },
        },
        required: ["query"],
      },
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    {
      name: USE_TOOL,
      title: "Use a tool",
      description: `Calls a tool that ${FIND_TOOLS} found.`,
      inputSchema: {
        type: "object",
        properties: {
          name: { type: "string", description: `Name of the tool, as ${FIND_TOOLS} returned it` },
          arguments: { type: "object", description: "Arguments, as the tool's inputSchema describes them" },
        },
        required: ["name"],
      },
    },
  ];
}

export interface SearchAsked {
  readonly query: string;
  readonly limit: number;
}

/** @returns a text: why the arguments are invalid */
export function readSearch(args: unknown): SearchAsked | string {
  const { query, limit = DEFAULT_FOUND } = recordOf(args);
  if (typeof query !== "string" || query.trim() === "" || query.length > MAX_QUERY)
    return `"query" must be text of up to ${MAX_QUERY} characters`;
  if (typeof limit !== "number" || !Number.isInteger(limit) || limit < 1)
    return `"limit" must be a whole number from 1 to ${MAX_FOUND}`;
  return { query, limit: Math.min(limit, MAX_FOUND) };
}

/**
 * The plain call of a tool from a call of `use_tool`: the same message with the name and the arguments of the tool.
 *
 * @returns undefined if it names no tool
 */
export function plainCall(bytes: Buffer): { readonly name: string; readonly bytes: Buffer } | undefined {
  const message = readMessage(bytes);
  const params = recordOf(message?.["params"]);
  const { name, arguments: own, ...others } = recordOf(params["arguments"]);
  // Other members would be lost.
  if (typeof name !== "string" || Object.keys(others).length > 0) return undefined;
  if (own !== undefined && !isRecord(own)) return undefined;
  const { arguments: _arguments, ...rest } = params;
  const plain = { ...message, params: { ...rest, name, ...(own && { arguments: own }) } };
  return { name, bytes: writeMessage(plain) };
}
