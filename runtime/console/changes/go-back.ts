/**
 * Rollback to an earlier slice: by a button if only users published the slice, else by a command.
 *
 * Promise: slices that a publishing tool publishes repeatedly are not changed here, whatever a form says.
 */
import type { GoBackView } from "../../pages/console/policy/changes.ts";
import { MAX_REASON_CHARACTERS } from "../../pages/console/pieces.ts";
import { type OwnerHistory, ownedBy } from "../../bundle/publication.ts";
import { readPublication } from "../../bundle/published.ts";
import type { Publisher } from "../../bundle/publisher.ts";
import { scopedOutcome } from "../../admin-listener/publish-scope.ts";
import { formatProblem } from "../../config/load.ts";
import type { Store } from "../../store/store.ts";
import type { ScreenAction, ConsoleRequest } from "../screen.ts";
import { showUntrusted } from "../show-untrusted.ts";
import { CHANGES_PATH } from "./list-changes.ts";

export interface GoBackDeps {
  readonly store: Store;
  readonly publisher: Pick<Publisher, "rollback">;
}

const WHY = {
  terraform:
    "This slice is managed by Terraform, or its source is unknown. The next apply would undo a rollback. Change it there.",
  kubernetes: "This slice is managed by the Ingress controller, which would undo a rollback. Change the Ingress.",
} as const;

/** @returns undefined without an earlier version */
export function goBackView(history: OwnerHistory, { rights }: ConsoleRequest): GoBackView | undefined {
  const { owner, versions } = history;
  const [before, last] = versions.slice(-2);
  if (!before || !last) return undefined;
  const to = before.generation;
  const program = ownedBy(history);
  if (program !== undefined) {
    const command = `gateway rollback --config <its configuration> --owner ${owner} --to ${to}`;
    return { kind: "command", command, why: WHY[program] };
  }
  if (!rights.may("operator", owner)) return undefined;
  const query = new URLSearchParams({ owner, to: String(to), from: String(last.generation) }).toString();
  return { kind: "button", to, href: `${CHANGES_PATH}/rollback?${query}` };
}

export interface WantedRollback {
  readonly owner: string;
  /** Generation to restore. */
  readonly to: number;
  /** Generation of this owner on the page. */
  readonly from: number;
}

export function readWanted(given: ReadonlyMap<string, string>): WantedRollback | undefined {
  const [owner = "", to = "", from = ""] = ["owner", "to", "from"].map((name) => given.get(name));
  const isNumber = (text: string): boolean => /^\d{1,15}$/.test(text);
  return owner !== "" && isNumber(to) && isNumber(from) ? { owner, to: Number(to), from: Number(from) } : undefined;
}

export function rollbackAction({ store, publisher }: GoBackDeps): ScreenAction {
  return {
    name: "Roll back a slice",
    role: "operator",
    isSensitive: true,
    ownerOf: (_, form) => form.get("owner"),
    async run({ principal, rights: { owners } }, form) {
      const wanted = readWanted(form);
      const reason = (form.get("reason") ?? "").trim();
      if (!wanted) return { refused: "The form is not complete." };
      if (reason === "" || reason.length > MAX_REASON_CHARACTERS) return { refused: "Enter a reason." };
      const { owner, to, from } = wanted;
      const { publication } = await readPublication(store);
      const history = publication.owners.find((each) => each.owner === owner);
      if (!history) return { refused: `${showUntrusted(owner)} never published a slice.` };
      const program = ownedBy(history);
      if (program !== undefined) return { refused: WHY[program] };
      if (history.versions.at(-1)?.generation !== from)
        return { refused: "The slice changed. Review the new version." };
      const made = await publisher.rollback({ owner, to, from }, { by: principal.user.id, reason });
      const outcome = owners ? scopedOutcome(made, { entry: owner, covers: (each) => owners.includes(each) }) : made;
      if (outcome.ok) {
        const { changed, generation, laggards } = outcome;
        const live = laggards.length === 0 ? "active on all processes" : "pending on some processes";
        const told = changed ? `Generation ${generation}: ${live}.` : "Nothing to roll back.";
        return { told, to: `${CHANGES_PATH}/${generation}` };
      }
      switch (outcome.reason) {
        case "invalid":
          return {
            refused: showUntrusted(`No longer valid: ${outcome.problems.map(formatProblem).join("; ")}`, 1_000),
          };
        case "no-such-generation":
          return { refused: showUntrusted(outcome.message, 500) };
        case "stale":
          return { refused: "The slice changed. Review the new version." };
      }
      return outcome satisfies never;
    },
  };
}
