/** `mcp.server.tool_scopes`: scopes that OAuth clients need for tools, in addition to the server's. */

export interface ToolScopes {
  /** Tool name, or prefix of names → scopes. */
  readonly exact: ReadonlyMap<string, readonly string[]>;
  readonly prefixes: readonly (readonly [prefix: string, scopes: readonly string[]])[];
  /** All scopes, with the tools as written; sorted. */
  readonly tools: ReadonlyMap<string, readonly string[]>;
}

/** Names that every server reads the same way, see `policy/mcp/tool-names.ts`. */
const PATTERN = /^(?:[A-Za-z0-9_.-]{1,128}\*?|\*)$/;

export function toolPatternProblem(pattern: string): string | undefined {
  return PATTERN.test(pattern) ? undefined : 'must be the name of a tool, or a prefix followed by "*"';
}

/** RFC 6749 §3.3, without scopes that have a special meaning here or at other servers. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]{1,128}$/;
const RESERVED: ReadonlySet<string> = new Set(["mcp", "openid", "offline_access"]);

export function toolScopeProblem(scope: string): string | undefined {
  if (RESERVED.has(scope)) return "must be another name: this one has a meaning for all tokens";
  return SCOPE.test(scope) ? undefined : 'must be a scope: visible ASCII without spaces, " and \\';
}

/** More than any user consents to on one page. */
const MAX_SCOPES = 50;

export function toolScopesProblem(written: Readonly<Record<string, readonly string[]>>): string | undefined {
  const count = new Set(Object.values(written).flat()).size;
  return count > MAX_SCOPES ? `has ${count} scopes, must have at most ${MAX_SCOPES}` : undefined;
}

/** @returns undefined if no tool needs any */
export function compileToolScopes(
  written: Readonly<Record<string, readonly string[]>> | undefined,
): ToolScopes | undefined {
  const entries = Object.entries(written ?? {}).filter(([, scopes]) => scopes.length > 0);
  if (entries.length === 0) return undefined;
  const tools = new Map<string, string[]>();
  for (const scope of [...new Set(entries.flatMap(([, scopes]) => scopes))].sort()) {
    tools.set(
      scope,
      entries.filter(([, scopes]) => scopes.includes(scope)).map(([pattern]) => pattern),
    );
  }
  return {
    exact: new Map(entries.filter(([pattern]) => !pattern.endsWith("*"))),
    prefixes: entries
      .filter(([pattern]) => pattern.endsWith("*"))
      .map(([pattern, scopes]) => [pattern.slice(0, -1), scopes] as const),
    tools,
  };
}

/** Scopes that a call of the tool needs, from every entry that matches it. Sorted. */
export function scopesOfTool({ exact, prefixes }: ToolScopes, tool: string): readonly string[] {
  const needed = new Set(exact.get(tool));
  for (const [prefix, scopes] of prefixes) if (tool.startsWith(prefix)) for (const scope of scopes) needed.add(scope);
  return [...needed].sort();
}
