/** `mcp.server.record_arguments`: what records tell of the arguments of tools. */
import { parsePointer } from "../../policy/mcp/argument-values.ts";
import { TREATMENTS, type DeclaredArguments, type Treatment } from "../../audit/redaction/plan.ts";
import { block } from "../../settings/types/block.ts";
import { textListMap } from "../../settings/types/map.ts";
import type { ShapeDoc } from "../../settings/types/registry.ts";
import { errorAt, quote, type Report } from "../../settings/problem.ts";
import type { McpRoute } from "./compiled.ts";

const MAX_NAME = 256;

/** Tool, or "*", to JSON pointers. */
const toolPointers = {
  checkName: (name: string) => (name.length > MAX_NAME ? "must be the name of a tool" : undefined),
  checkValue: (value: string) =>
    value.length > MAX_NAME || parsePointer(value) === undefined
      ? `is ${quote(value)}, must be a JSON pointer such as "/repo"`
      : undefined,
};

const recordArgumentsShape = {
  plain: textListMap({
    doc: 'Arguments that stand in clear in every record and copy: tool name, or "*" for all tools, to JSON pointers; `""` is all arguments.',
    unset: "in clear in the log alone",
    annotation: "mcp_server_record_arguments_plain",
    ...toolPointers,
  }),
  digest: textListMap({
    doc: 'Arguments of which records have keyed digests: tool name, or "*" for all tools, to JSON pointers. Equal values have equal digests, so calls can be compared. A list or an object is one digest; of `""` each argument is one, with its name.',
    unset: "in copies and in the field `replay` alone",
    annotation: "mcp_server_record_arguments_digest",
    ...toolPointers,
  }),
  omit: textListMap({
    doc: 'Arguments that no record has in any form: tool name, or "*" for all tools, to JSON pointers. `gateway replay` cannot decide rules that ask for them.',
    unset: "none",
    annotation: "mcp_server_record_arguments_omit",
    ...toolPointers,
  }),
};

export type RecordArgumentsDoc = ShapeDoc<typeof recordArgumentsShape>;

export const recordArgumentsBlock = block(recordArgumentsShape, {
  doc: 'What records tell of the arguments of tools: in the field `mcp-tool-parameters`, in `replay`, and in the copies of records that are kept for queries or sent elsewhere. What lies below a pointer goes with it. The longest pointer counts, and a tool\'s own before one of `*` that is as long; what `*` says of something below a pointer of the tool\'s own counts only where it is stricter. `digest` and `omit` also meet names that differ in case or punctuation (`-`, `_`, `.`, brackets, …), up to four names written as one ("user.password" for "/user/password"), and other forms that servers accept: lists of such objects, objects with members `0`, `1`, …, a single object instead of a list; a text where an object or a list is declared is hidden whole, since servers may read JSON or a form in it. Records list in `mcp-tool-parameters-redacted` what was changed. The key of digests is `authorize_log_key`, or where that is not set one that is derived from `shared_secret`.',
  unset: "in the log arguments stand as they are; in copies and in `replay` they are digests",
});

/** Of one tool; each call is compared with all of them. */
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
