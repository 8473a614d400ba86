/** `gateway explain`: judges one imagined request against a configuration, with the proxy's own policy engine. */
import { formatProblem, loadSlices, type SliceSource } from "./config/load.ts";
import { routePolicy } from "./policy/access-keys.ts";
import type { Facts } from "./policy/facts.ts";
import { compilePolicy } from "./policy/evaluate.ts";
import { explain, formatExplanation } from "./policy/explain.ts";

/** What the command line gives. */
export interface ExplainOptions {
  /** Route key ("owner/name") or name. */
  readonly route: string;
  readonly user: string;
  readonly email: string;
  /** Comma separated. */
  readonly groups: string;
  readonly anonymous?: boolean;
  /** A `tools/call` of this tool. */
  readonly tool?: string;
  readonly mcpMethod?: string;
  readonly method: string;
  readonly path: string;
  readonly json?: boolean;
}

/** @returns `ok` is false when the configuration is bad or has no such route, not when the answer is "denied" */
export function explainRequest(
  sources: readonly SliceSource[],
  options: ExplainOptions,
): { readonly text: string; readonly ok: boolean } {
  const { config, problems } = loadSlices(sources);
  if (!config) return { ok: false, text: problems.map(formatProblem).join("\n") };
  const route = config.routes.find(({ key, name }) => key === options.route || name === options.route);
  if (!route) {
    const known = config.routes.map(({ key }) => `"${key}"`).join(", ");
    return { ok: false, text: `Cannot explain route "${options.route}": there is none of this name, only ${known}` };
  }
  const explanation = explain(compilePolicy(routePolicy(route.doc)), factsOf(options, route.doc.from));
  if (options.json === true) return { ok: true, text: JSON.stringify(explanation, null, 2) };
  return { ok: true, text: formatExplanation(questionOf(options, route.key), explanation) };
}

function factsOf(options: ExplainOptions, from: string): Facts {
  const mcpMethod = options.tool === undefined ? options.mcpMethod : "tools/call";
  return {
    http: { method: options.method, path: options.path, host: URL.parse(from)?.host ?? "", ip: "127.0.0.1" },
    ...(options.anonymous !== true && {
      user: {
        id: options.user,
        email: options.email,
        name: "",
        groups: options.groups.split(",").filter((name) => name !== ""),
        claims: {},
      },
    }),
    ...(mcpMethod !== undefined && {
      mcp: { method: mcpMethod, ...(options.tool !== undefined && { tool: options.tool }) },
    }),
  };
}

function questionOf(options: ExplainOptions, route: string): string {
  const who = options.anonymous === true ? "nobody" : options.email || options.user;
  if (options.tool !== undefined) return `${who} calls ${options.tool} on ${route}`;
  return `${who} sends ${options.mcpMethod ?? `${options.method} ${options.path}`} to ${route}`;
}
