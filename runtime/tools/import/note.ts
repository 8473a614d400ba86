import { visibleText } from "../../shared/json/visible-text.ts";
import type { Members } from "../../shared/is-record.ts";

/** What an import has to tell besides its output. */
export interface Note {
  /**
   * lost: could not be carried over. differs: carried over, and means something else in a way somebody may notice.
   * secret: must be given to the gateway's environment. todo: somebody must do it before the gateway runs.
   */
  readonly kind: "lost" | "differs" | "secret" | "todo";
  /** Where it stood: `route "wiki", tls_skip_verify`; "" for the whole file. */
  readonly where: string;
  readonly text: string;
}

export type ImportReport = (kind: Note["kind"], where: string, text: string) => void;

const TITLES: Readonly<Record<Note["kind"], string>> = {
  lost: "Not carried over",
  differs: "Carried over with another meaning",
  secret: "Secrets: give them to the gateway, what is written has references",
  todo: "To do before the gateway runs",
};

/** The notes as text for people, the gravest first; "" when there are none. */
export function formatNotes(notes: readonly Note[]): string {
  const sections = (["lost", "differs", "secret", "todo"] as const).flatMap((kind) => {
    const lines = notes
      .filter((note) => note.kind === kind)
      .map(({ where, text }) => `  - ${visibleText(`${where === "" ? "" : `${where}: `}${text}`)}`);
    // Said of many routes, once is enough.
    return lines.length === 0 ? [] : [[`${TITLES[kind]}:`, ...new Set(lines)].join("\n")];
  });
  return sections.join("\n");
}

/** What became of a configuration that was imported. */
export interface Converted {
  readonly owner: string;
  /** It is a slice as a gateway has it, to be taken over. */
  readonly isPublished: boolean;
  readonly settings: Members;
  /** What belongs into the gateway's own file; live settings may stand there, too. */
  readonly boot: Members;
  /** What is written there and would be in `boot`, had it been asked for. */
  readonly leftForBoot: readonly string[];
  /** By route name. */
  readonly routes: Readonly<Record<string, Members>>;
  readonly notes: readonly Note[];
  /** What a gateway would refuse in the result; never empty of meaning, so it is written all the same. */
  readonly problems: readonly string[];
}
