/** `mcp.server.record_arguments`: tool arguments in records. */
import { parsePointer } from "../../policy/mcp/argument-values.ts";
import { TREATMENTS, type DeclaredArguments, type Treatment } from "../../audit/redaction/plan.ts";
import { block } from "../../settings/types/block.ts";
import { textListMap } from "../../settings/types/map.ts";
import type { ShapeDoc } from "../../settings/types/registry.ts";
import { errorAt, quote, type Report } from "../../settings/problem.ts";
import type { McpRoute } from "./compiled.ts";

const MAX_NAME = 256;

/** Maps tools, or "*", to JSON pointers. */
const toolPointers = {
  checkName: (name: string) => (name.length > MAX_NAME ? "must be the name of a tool" : undefined),
  checkValue: (value: string) =>
    value.length > MAX_NAME || parsePointer(value) === undefined
      ? `is ${quote(value)}, must be a JSON pointer such as "/repo"`
      : undefined,
};

const recordArgumentsShape = {
  plain: textListMap({
    doc: 'Arguments recorded in plain text: tool name, or "*" for all tools, to JSON pointers; `""` is all arguments.',
    unset: "none",
    annotation: "mcp_server_record_arguments_plain",
    ...toolPointers,
  }),
  digest: textListMap({
    doc: "Arguments recorded as keyed digests, as in `plain`. Equal values have equal digests.",
    unset: "none",
    annotation: "mcp_server_record_arguments_digest",
    ...toolPointers,
  }),
  omit: textListMap({
    doc: "Arguments that are not recorded, as in `plain`.",
    unset: "none",
    annotation: "mcp_server_record_arguments_omit",
    ...toolPointers,
  }),
};

export type RecordArgumentsDoc = ShapeDoc<typeof recordArgumentsShape>;

export const recordArgumentsBlock = block(recordArgumentsShape, {
  doc: "Which tool arguments records contain, by JSON pointer. The longest matching pointer applies.",
  unset: "plain text in the log; digests in copies and `replay`",
});

/** Limit per tool; each call is compared with all of them. */
const MAX_POINTERS = 100;

/** @returns problems with paths below the block */
export function recordArgumentsRules(doc: RecordArgumentsDoc, report: Report): void {
  const found = new Map<string, Treatment>();
  const counts = new Map<string, number>();
  for (const treatment of TREATMENTS) {
    for (const [tool, pointers] of Object.entries(doc[treatment] ?? {})) {
      for (const pointer of new Set(pointers)) {
        const place = JSON.stringify([tool, pointer]);
        const other = found.get(place);
        if (other !== undefined) report(errorAt([treatment, tool], `has ${quote(pointer)}, which "${other}" has, too`));
        found.set(place, treatment);
      }
      const before = counts.get(tool) ?? 0;
      counts.set(tool, before + pointers.length);
      if (before <= MAX_POINTERS && before + pointers.length > MAX_POINTERS)
        report(errorAt([treatment, tool], `is one of more than ${MAX_POINTERS} pointers of this tool`));
    }
  }
}

export function recordArgumentsOf({ mcp }: McpRoute): DeclaredArguments | undefined {
  return mcp?.kind === "server" ? mcp.recordArguments : undefined;
}

export function compileRecordArguments(doc: RecordArgumentsDoc | undefined): DeclaredArguments | undefined {
  if (doc === undefined) return undefined;
  const { plain, digest, omit } = doc;
  return { ...(plain && { plain }), ...(digest && { digest }), ...(omit && { omit }) };
}
