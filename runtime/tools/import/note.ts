import { visibleText } from "../../shared/json/visible-text.ts";
import type { Members } from "../../shared/is-record.ts";

/** A message of an import in addition to its output. */
export interface Note {
  /**
   * lost: could not be converted. differs: converted, with a noticeably different meaning. secret: must be set in the
   * gateway's environment. todo: must be done before the gateway runs.
   */
  readonly kind: "lost" | "differs" | "secret" | "todo";
  /** Original location: `route "wiki", tls_skip_verify`; "" for the whole file. */
  readonly where: string;
  readonly text: string;
}

export type ImportReport = (kind: Note["kind"], where: string, text: string) => void;

const TITLES: Readonly<Record<Note["kind"], string>> = {
  lost: "Not converted",
  differs: "Converted with another meaning",
  secret: "Secrets: give them to the gateway, the output has references",
  todo: "Required before the gateway runs",
};

/** The notes as text, the most severe first; "" when there are none. */
export function formatNotes(notes: readonly Note[]): string {
  const sections = (["lost", "differs", "secret", "todo"] as const).flatMap((kind) => {
    const lines = notes
      .filter((note) => note.kind === kind)
      .map(({ where, text }) => `  - ${visibleText(`${where === "" ? "" : `${where}: `}${text}`)}`);
    // A note about many routes appears once.
    return lines.length === 0 ? [] : [[`${TITLES[kind]}:`, ...new Set(lines)].join("\n")];
  });
  return sections.join("\n");
}

/** Result of importing a configuration. */
export interface Converted {
  readonly owner: string;
  /** A slice of a gateway, to be adopted. */
  readonly isPublished: boolean;
  readonly settings: Members;
  /** Content of the main configuration file; may include dynamic settings. */
  readonly boot: Members;
  /** Keys in the file that would be in `boot`, had it been requested. */
  readonly leftForBoot: readonly string[];
  /** By route name. */
  readonly routes: Readonly<Record<string, Members>>;
  readonly notes: readonly Note[];
  /** Reasons why a gateway would reject the result, which is written anyway. */
  readonly problems: readonly string[];
}
