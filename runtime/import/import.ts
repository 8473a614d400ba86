/** `gateway import`: another product's configuration as a program, as HCL or as a bundle. */
import { isOwner, OWNER_EXPECTED } from "../config/owners.ts";
import { GatewayError } from "../errors.ts";
import { convertConfig, type Converted } from "./convert.ts";
import { formatNotes } from "./note.ts";
import { writeHcl } from "./write-hcl.ts";
import { writeTypescript } from "./write-typescript.ts";

export const IMPORT_FORMATS = ["typescript", "hcl", "bundle"] as const;
export type ImportFormat = (typeof IMPORT_FORMATS)[number];

export interface Imported {
  /** The program, HCL or bundle. */
  readonly text: string;
  /** What was lost or differs, for people; "" when nothing. */
  readonly report: string;
  /** Whether a gateway would take it. */
  readonly ok: boolean;
}

/**
 * @param file name for messages
 * @throws GatewayError `import.unreadable`, `import.usage`
 */
export function importConfig(file: string, text: string, options: { owner: string; to: string }): Imported {
  const { owner, to } = options;
  const write = WRITERS[to as ImportFormat];
  if (write === undefined) {
    throw new GatewayError("import.usage", `Cannot import to "${to}", must be one of ${IMPORT_FORMATS.join(", ")}`);
  }
  if (!isOwner(owner)) {
    throw new GatewayError("import.usage", `Cannot import for owner "${owner}": it ${OWNER_EXPECTED}`);
  }
  const converted = convertConfig(file, text, owner);
  const routes = Object.keys(converted.routes).length;
  const parts = [
    `Imported ${routes} route${routes === 1 ? "" : "s"} of ${file}.`,
    formatNotes(converted.notes),
    ...(converted.problems.length > 0
      ? [
          `To correct by hand, because a gateway refuses it:\n${converted.problems.map((text) => `  - ${text}`).join("\n")}`,
        ]
      : []),
  ];
  return { text: write(converted), report: parts.filter(Boolean).join("\n"), ok: converted.problems.length === 0 };
}

const WRITERS: Readonly<Record<ImportFormat, (converted: Converted) => string>> = {
  typescript: writeTypescript,
  hcl: writeHcl,
  bundle: ({ owner, settings, routes }) => `${JSON.stringify({ version: 1, owner, settings, routes }, null, 2)}\n`,
};
