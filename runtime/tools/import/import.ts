/** `gateway import`: another product's configuration as a program, as HCL or as a bundle; a published slice as HCL. */
import { visit } from "yaml";
import type { Pair, Scalar } from "yaml";
import { HAND_WRITTEN_OWNER, DEFAULT_OWNER, isOwner, OWNER_EXPECTED } from "../../features/process/owners.ts";
import { quote } from "../../settings/problem.ts";
import { GatewayError } from "../../shared/errors.ts";
import { terminalText } from "../../shared/json/foreign-text.ts";
import { visibleText } from "../../shared/json/visible-text.ts";
import { convertConfig } from "./convert.ts";
import { IMPORT_FORMATS, type ImportFormat } from "../import-formats.ts";
import { formatNotes, type Converted } from "./note.ts";
import { writeHcl } from "../../config/write/write-hcl.ts";
import { writeTypescript } from "../../config/write/write-typescript.ts";
import { bootDocument } from "./boot-document.ts";
import { yamlText } from "../../shared/json/yaml-text.ts";

export interface Imported {
  /** The program, HCL or bundle. */
  readonly text: string;
  /** The main configuration file, as YAML; undefined unless requested. */
  readonly boot: string | undefined;
  /** Report of lost and different settings; "" when there are none. */
  readonly report: string;
  /** Whether a gateway would accept it. */
  readonly ok: boolean;
}

export interface ImportOptions {
  /** Default: "main"; a slice keeps its own. */
  readonly owner?: string | undefined;
  /** Default: "typescript", for a slice "hcl". */
  readonly to?: string | undefined;
  /** Also generate the main configuration file, with the dynamic settings in it instead of in the published part. */
  readonly boot?: boolean;
}

/**
 * @param file absolute, for messages and for adopting a published slice
 * @throws GatewayError `import.unreadable`, `import.usage`
 */
export function importConfig(file: string, text: string, { owner, to, boot = false }: ImportOptions): Imported {
  if (to !== undefined && !isFormat(to)) throw usage(`to "${to}", must be one of ${IMPORT_FORMATS.join(", ")}`);
  if (owner !== undefined && !isOwner(owner)) throw usage(`for owner "${owner}": it ${OWNER_EXPECTED}`);
  if (owner === HAND_WRITTEN_OWNER)
    throw usage(
      `for owner "${owner}", which is reserved for the main configuration file; choose another, such as ${quote(DEFAULT_OWNER)}`,
    );
  const converted = convertConfig(file, text, owner ?? DEFAULT_OWNER, boot);
  if (converted.isPublished) refuseForSlice(converted, { owner, to, boot });
  const routes = Object.keys(converted.routes).length;
  const parts = [
    `Imported ${routes} route${routes === 1 ? "" : "s"} of ${file} for owner ${quote(converted.owner)}.`,
    formatNotes(converted.notes),
    ...(converted.problems.length > 0
      ? [
          `To fix by hand, because the gateway rejects it:\n${converted.problems.map((text) => `  - ${visibleText(text)}`).join("\n")}`,
        ]
      : []),
    ...(boot || converted.isPublished ? [] : [ownFile(converted)]),
  ];
  const published = boot ? { ...converted, settings: {} } : converted;
  return {
    text: WRITERS[to ?? (converted.isPublished ? "hcl" : "typescript")](published, file),
    boot: boot ? writeBoot(converted) : undefined,
    report: parts.filter(Boolean).join("\n"),
    ok: converted.problems.length === 0,
  };
}

function ownFile({ leftForBoot: keys }: Converted): string {
  const what =
    "Listener, certificates, keys and storage are in the gateway's own file, which --boot gateway.yaml writes";
  return keys.length === 0 ? `${what}.` : `${what}. For it are: ${keys.join(", ")}.`;
}

function isFormat(text: string): text is ImportFormat {
  return IMPORT_FORMATS.some((format) => format === text);
}

function refuseForSlice({ owner }: Converted, options: ImportOptions): void {
  if (options.to !== undefined && options.to !== "hcl")
    throw usage(`a published slice to "${options.to}", must be hcl`);
  if (options.boot === true)
    throw usage("a published slice with --boot: its gateway already has a main configuration file");
  if (options.owner !== undefined && options.owner !== owner)
    throw usage(
      `the slice of owner "${owner}" for "${options.owner}": the name of the owner is part of what is published`,
    );
}

function usage(reason: string): GatewayError {
  return new GatewayError("import.usage", `Cannot import ${reason}`);
}

const WRITERS: Readonly<Record<ImportFormat, (converted: Converted, file: string) => string>> = {
  typescript: writeTypescript,
  hcl: writeHcl,
  bundle: ({ owner, settings, routes }) => {
    const hasSettings = Object.keys(settings).length > 0;
    return `${terminalText(JSON.stringify({ version: 1, owner, ...(hasSettings && { settings }), routes }, null, 2))}\n`;
  },
};

/** The main configuration file as YAML. */
const HEAD = ` The gateway's own file: gateway run --config, of this file or of a directory with it and the slices.
 Run gateway check on this file and the published slices to see what is missing.`;

const OWNERS = " Owners whose slices are accepted, and their permissions.";

function writeBoot(converted: Converted): string {
  return yamlText(bootDocument(converted), (document) => {
    document.commentBefore = HEAD;
    visit(document, {
      Pair(_, pair) {
        const { key } = pair as Pair<Scalar>;
        if (key.value === "owners") Object.assign(key, { spaceBefore: true, commentBefore: OWNERS });
        return visit.SKIP;
      },
    });
  });
}
