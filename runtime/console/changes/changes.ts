/** Publications and administrative actions, their effect on access, and rollback. */
import { changeBody, changesBody, type ChangesView } from "../../pages/console/policy/changes.ts";
import { confirmForm } from "../../pages/console/pieces.ts";
import { html } from "../../pages/html.ts";
import type { RecordReader } from "../../record-store/record-reader.ts";
import { GatewayError } from "../../shared/errors.ts";
import type { OwnerHistory, Publication } from "../../bundle/publication.ts";
import { readPastSlices } from "../../bundle/past-slices.ts";
import { readPublication } from "../../bundle/published.ts";
import type { HealthReader } from "../../health/health.ts";
import type { Drafts } from "../../simulation/drafts.ts";
import { differenceView } from "./difference-view.ts";
import type { Screen, ScreenPage, ConsoleRequest } from "../screen.ts";
import { attempt } from "../simulator/deps.ts";
import { showUntrusted } from "../show-untrusted.ts";
import { goBackView, type GoBackDeps, readWanted, rollbackAction } from "./go-back.ts";
import { listActions } from "./list-actions.ts";
import { CHANGES_PATH, changeRow, changesOf, listChanges } from "./list-changes.ts";

export interface ChangesDeps extends GoBackDeps {
  readonly drafts: Pick<Drafts, "ask" | "askAgain">;
  /** Undefined: no records are stored. */
  readonly records: Pick<RecordReader, "find"> | undefined;
  /** The state of this process. */
  readonly own?: HealthReader["own"];
}

export function changesScreen(deps: ChangesDeps): Screen {
  return {
    path: "changes",
    group: "Policy",
    icon: "changes",
    name: "Changes",
    async show(visit) {
      const [place, ...more] = visit.path;
      if (more.length > 0) return undefined;
      if (place === undefined) return { title: "Changes", body: changesBody(await changesView(deps, visit)) };
      if (place === "rollback") return confirmRollback(deps, visit);
      return /^\d{1,15}$/.test(place) ? oneChange(deps, visit, Number(place)) : undefined;
    },
    actions: { rollback: rollbackAction(deps) },
  };
}

async function changesView(deps: ChangesDeps, visit: ConsoleRequest): Promise<ChangesView> {
  const { query, rights } = visit;
  const owner = (query.get("owner") ?? "").trim();
  const before = /^\d{1,15}$/.test(query.get("before") ?? "") ? Number(query.get("before")) : undefined;
  const publication = await orUndefined(async () => (await readPublication(deps.store)).publication);
  const maySee = (each: string): boolean => rights.may("viewer", each);
  const page = publication && listChanges(publication, { owner, before, maySee });
  const configuration = (await deps.own?.())?.configuration;
  const cursor = query.get("actions");
  const actions = deps.records && (await orUndefined(() => listActions(deps.records as RecordReader, rights, cursor)));
  const address = (more: Record<string, string>): string => {
    const given = { ...(owner !== "" && { owner }), ...more };
    const text = new URLSearchParams(given).toString();
    return text === "" ? CHANGES_PATH : `${CHANGES_PATH}?${text}`;
  };
  return {
    path: CHANGES_PATH,
    owner,
    active: configuration && { digest: configuration.digest.slice(0, 8), sinceMs: configuration.loadedAt * 1000 },
    rows: page?.rows ?? [],
    first: before === undefined ? undefined : address({}),
    next: page?.next === undefined ? undefined : address({ before: String(page.next) }),
    publicationFailed: publication === undefined,
    actions: actions?.rows,
    actionsFailed: deps.records !== undefined && actions === undefined,
    moreActions: actions?.next === undefined ? undefined : address({ actions: actions.next }),
  };
}

async function oneChange(
  deps: ChangesDeps,
  visit: ConsoleRequest,
  generation: number,
): Promise<ScreenPage | undefined> {
  const { publication } = await readPublication(deps.store);
  const found = changesOf(publication, generation, (owner) => visit.rights.may("viewer", owner));
  if (found.length === 0) return undefined;
  const difference = await differenceOf(deps, visit, publication, generation);
  const isTold = typeof difference !== "string" && difference.kind === "difference";
  const body = changeBody({
    generation,
    owners: found.map(({ history, version }) => ({
      row: changeRow(history, version),
      // Only for the active version.
      ...(history.versions.at(-1) === version && { goBack: goBackView(history, visit) }),
    })),
    ...(isTold
      ? { difference: differenceView(difference.difference) }
      : { failed: showUntrusted(typeof difference === "string" ? difference : "Comparison unavailable", 500) }),
    back: CHANGES_PATH,
  });
  return { title: `Generation ${generation}`, body };
}

/** Comparison with the previous generation: the stored slices of both, each with the current files. */
async function differenceOf(
  { drafts, store }: ChangesDeps,
  { snapshot, rights }: ConsoleRequest,
  publication: Publication,
  generation: number,
) {
  const scope = rights.owners;
  return attempt(() =>
    drafts.askAgain({ generation, scope, store: publication.id }, snapshot.digest, async () => {
      const known = new Map<string, string>();
      const before = await readPastSlices(store, publication, generation - 1, known);
      const after = await readPastSlices(store, publication, generation, known);
      return { kind: "compare-published", before, after, scope };
    }),
  );
}

async function confirmRollback({ store }: ChangesDeps, visit: ConsoleRequest): Promise<ScreenPage | undefined> {
  const wanted = readWanted(visit.query);
  if (!wanted || !visit.rights.may("operator", wanted.owner)) return undefined;
  const { publication } = await readPublication(store);
  const history = publication.owners.find(({ owner }) => owner === wanted.owner);
  const goBack = history && goBackView(history, visit);
  if (!history || goBack?.kind !== "button") return undefined;
  const { owner, to, from } = wanted;
  const name = showUntrusted(owner);
  const body = confirmForm({
    action: CHANGES_PATH,
    name: "rollback",
    csrfToken: visit.csrf("rollback"),
    fields: Object.entries({ owner, to: String(to), from: String(from) }),
    button: `Roll back to generation ${to}`,
    text: html`The slice of ${name} becomes what it was after generation ${to}${digestText(history, to)}. It is
    validated with the active configuration first, and takes effect immediately.`,
    asksReason: true,
    back: `${CHANGES_PATH}/${from}`,
  });
  return { title: `Roll back the slice of ${name}`, body };
}

function digestText({ versions }: OwnerHistory, to: number): string {
  const then = versions.findLast(({ generation }) => generation <= to);
  return then?.digest ? ` (${then.digest.slice(0, 12)})` : ", when there was none";
}

/** @returns undefined if the source is unavailable */
async function orUndefined<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
}
