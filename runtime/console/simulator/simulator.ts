/**
 * The simulator: one hypothetical request with the active configuration and with a draft, and the drafts themselves.
 *
 * Untrusted input: addresses, forms, and drafts, which any viewer writes. Promises: a draft never takes effect, and no slice changes.
 * A viewer of one owner can ask about that owner's routes, and about no existing user.
 */
import type { StringMatch } from "../../policy/match.ts";
import type { ArgumentMatch } from "../../policy/mcp/argument-match.ts";
import { draftFormBody, draftListBody } from "../../pages/console/policy/draft.ts";
import { simulatorBody, type SimulatorFields } from "../../pages/console/policy/simulator.ts";
import type { VerdictView } from "../../pages/console/policy/verdict.ts";
import type { UserFacts } from "../../policy/facts.ts";
import { MAX_DRAFT_BYTES } from "../../simulation/draft.ts";
import type { StoredDraft } from "../../simulation/draft-records.ts";
import type { Screen, ScreenAction, ScreenPage, ConsoleRequest } from "../screen.ts";
import { showUntrusted } from "../show-untrusted.ts";
import { askInForce } from "./ask-in-force.ts";
import { attempt, DRAFTS_PATH, mayNamePeople, SIMULATOR_PATH, type SimulatorDeps } from "./deps.ts";
import { draftTitle, draftView } from "./draft-view.ts";
import { respondExport } from "./export.ts";
import { findRouteOf } from "./find-route.ts";
import { loadDecision } from "./load-decision.ts";
import { isAsked, readAsked, readFields } from "./read-fields.ts";
import { inForceView, verdictView } from "./verdict-view.ts";

/** Suggestions; others can be typed. */
const MAX_ROUTES = 500;
/** A draft in a form, with three characters for each of its own. */
const MAX_FORM_BYTES: number = MAX_DRAFT_BYTES * 3 + 16_384;

type Form = ReadonlyMap<string, string>;

export function simulatorScreen(deps: SimulatorDeps): Screen {
  const { drafts } = deps;

  const findDraft = async (visit: ConsoleRequest, id: string | undefined): Promise<StoredDraft | undefined> => {
    const draft = id === undefined ? undefined : await drafts.records.get(id);
    return draft && visit.rights.may("viewer", draft.owner) ? draft : undefined;
  };

  const simulator = async (visit: ConsoleRequest, given: Form, problem?: string): Promise<ScreenPage> => {
    const fields = readFields(given);
    const draft = await findDraft(visit, given.get("draft"));
    const answer = isAsked(fields) ? await answerTo(deps, visit, fields, draft) : { verdicts: [] };
    const body = simulatorBody({
      path: SIMULATOR_PATH,
      fields,
      routes: visibleRoutes(visit),
      users: await knownUsers(deps, visit),
      tools: toolsOf(visit, fields.route),
      mayNamePeople: mayNamePeople(visit),
      hasRecords: deps.records !== undefined,
      drafts: (await ownDrafts(deps, visit)).map(({ id, title }) => ({ id, title })),
      draft: draft && { id: draft.id, href: `${DRAFTS_PATH}/${draft.id}`, title: draftTitle(draft) },
      csrfToken: visit.csrf("ask"),
      links: [
        [`${SIMULATOR_PATH}/draft`, "New slice draft"],
        [DRAFTS_PATH, "Your drafts"],
      ],
      ...answer,
      ...(problem !== undefined && { problem }),
    });
    return { title: "Simulator", body };
  };

  const draftForm = async (visit: ConsoleRequest): Promise<ScreenPage | undefined> => {
    const from = await findDraft(visit, visit.query.get("from"));
    const key = from ? from.route : visit.query.get("route");
    const form = { action: SIMULATOR_PATH, csrfToken: visit.csrf("draft"), maxBytes: MAX_DRAFT_BYTES };
    const owners = ownersOf(visit);
    if (key === undefined || key === "") {
      const owner = from?.owner ?? visit.query.get("owner") ?? (owners.length === 1 ? owners[0] : undefined) ?? "";
      return {
        title: "Slice draft",
        scripts: ["draft-file"],
        body: draftFormBody({ ...form, owners, owner, text: from?.text ?? "" }),
      };
    }
    const route = findRouteOf(visit.snapshot, { key });
    if (!route || !visit.rights.may("viewer", route.owner)) return undefined;
    const text = from?.text ?? (await currentPolicy(deps, key));
    const body = draftFormBody({ ...form, route: key, owners, owner: route.owner, text });
    return { title: `Draft of the policy of ${showUntrusted(key)}`, scripts: ["draft-file"], body };
  };

  return {
    path: "simulator",
    group: "Policy",
    icon: "simulator",
    name: "Simulator",
    maxFormBytes: MAX_FORM_BYTES,
    async show(visit) {
      const [place, id, ...more] = visit.path;
      if (more.length > 0) return undefined;
      if (place === undefined) {
        if (!visit.query.has("load")) return simulator(visit, visit.query);
        const loaded = await load(deps, visit);
        return loaded ? simulator(visit, loaded) : simulator(visit, visit.query, NOT_LOADED);
      }
      if (place === "draft" && id === undefined) return draftForm(visit);
      if (place !== "drafts") return undefined;
      if (id === undefined)
        return { title: "Your drafts", body: draftListBody({ rows: await ownDrafts(deps, visit) }) };
      const draft = await findDraft(visit, id);
      return draft && { title: draftTitle(draft), body: await draftView(deps, visit, draft) };
    },
    async respond(visit) {
      const [place, id, last, ...more] = visit.path;
      if (place !== "drafts" || last !== "export" || more.length > 0) return false;
      const draft = await findDraft(visit, id);
      return draft !== undefined && respondExport(deps, visit, draft);
    },
    actions: {
      ask: {
        name: "Simulate",
        role: "viewer",
        isSensitive: false,
        ownerOf: (visit, form) => ownerAsked(visit, form),
        run: async (visit, form) => ({ page: await simulator(visit, form) }),
      },
      draft: draftAction(deps),
      "remove-draft": {
        name: "Delete draft",
        role: "viewer",
        isSensitive: false,
        ownerOf: async (visit, form) => (await findDraft(visit, form.get("id")))?.owner ?? ownersOf(visit)[0],
        async run({ principal }, form) {
          const isDone = await drafts.records.remove(form.get("id") ?? "", principal.user.id);
          if (!isDone) return { refused: "Draft not found." };
          return { told: "Draft deleted.", to: DRAFTS_PATH };
        },
      },
    },
  };
}

function draftAction({ drafts }: SimulatorDeps): ScreenAction {
  return {
    name: "Preview draft",
    role: "viewer",
    isSensitive: false,
    // The owner of a policy is that of its route, whatever the form says.
    ownerOf: ({ snapshot }, form) =>
      form.get("kind") === "policy"
        ? findRouteOf(snapshot, { key: form.get("route") ?? "" })?.owner
        : form.get("owner"),
    async run({ snapshot, principal }, form) {
      const [kind, route, text = ""] = [form.get("kind"), form.get("route") ?? "", form.get("text")];
      if (Buffer.byteLength(text) > MAX_DRAFT_BYTES)
        return { refused: `The draft is longer than ${MAX_DRAFT_BYTES / 1024} KiB.` };
      const found = findRouteOf(snapshot, { key: route });
      if (kind === "policy" && !found) return { refused: "This route no longer exists." };
      const owner = kind === "policy" ? (found?.owner ?? "") : (form.get("owner") ?? "").trim();
      if (owner === "" || text.trim() === "") return { refused: "Enter an owner and a configuration." };
      const draft =
        kind === "policy" ? ({ kind, owner, route, text } as const) : ({ kind: "slice", owner, text } as const);
      const id = await drafts.records.put(principal.user.id, draft);
      return { told: "Draft saved for 24 hours. It does not affect traffic.", to: `${DRAFTS_PATH}/${id}` };
    },
  };
}

const NOT_LOADED = "No decision with this request ID, or it is not visible to your role.";

/** Fields of a decision. They stay out of the address, since arguments must not get into logs and histories. */
async function load({ records }: SimulatorDeps, visit: ConsoleRequest): Promise<Form | undefined> {
  const id = visit.query.get("load")?.trim() ?? "";
  const loaded = records && id !== "" ? await attempt(() => loadDecision(records, visit, id)) : undefined;
  return loaded === undefined || typeof loaded === "string" ? undefined : new Map(Object.entries(loaded));
}

interface Answer {
  readonly verdicts: readonly VerdictView[];
  readonly problem?: string;
  readonly changeHref?: string;
}

async function answerTo(
  deps: SimulatorDeps,
  visit: ConsoleRequest,
  fields: SimulatorFields,
  draft: StoredDraft | undefined,
): Promise<Answer> {
  const asked = readAsked(fields);
  if (!asked.ok) return { verdicts: [], problem: asked.problem };
  const { route, question, person } = asked;
  const known = person === undefined ? undefined : await findPerson(deps, visit, person);
  if (typeof known === "string") return { verdicts: [], problem: known };
  const { snapshot, rights } = visit;
  const found = askInForce(deps, snapshot, { route, question, known }, rights);
  const verdicts: VerdictView[] = [];
  const problems: string[] = [];
  if (typeof found === "string") problems.push(found);
  else verdicts.push(inForceView(found, snapshot.digest));
  if (draft) {
    const task = { kind: "explain-draft", draft, route, question, known, scope: rights.owners } as const;
    const answered = await attempt(() => deps.drafts.ask(task));
    if (typeof answered === "string") problems.push(answered);
    else if (answered.kind === "explained") {
      verdicts.push(verdictView("With the draft", nameOf(answered.question, known), answered.explained));
    } else problems.push(`With the draft: ${answered.kind === "none" ? answered.why : "there is no answer"}`);
  }
  return {
    verdicts,
    ...(problems.length > 0 && { problem: showUntrusted(problems.join(". "), 1_000) }),
    ...(typeof found !== "string" && {
      changeHref: `${SIMULATOR_PATH}/draft?${new URLSearchParams({ route: found.route.key }).toString()}`,
    }),
  };
}

function nameOf(question: string, known: UserFacts | undefined): string {
  return known ? `${known.email || known.id}: ${question.slice(question.indexOf(" ") + 1)}` : question;
}

/** @returns why there is none, in words */
async function findPerson(
  { people }: SimulatorDeps,
  visit: ConsoleRequest,
  named: string,
): Promise<UserFacts | string> {
  if (!mayNamePeople(visit)) return "Your role allows hypothetical users only";
  const found = await people.find(named, visit.snapshot.settings);
  if (found.length > 1) return `Several have this address: ${found.map(({ id }) => id).join(", ")}`;
  return found[0] ?? "Unknown user";
}

async function currentPolicy({ drafts }: SimulatorDeps, route: string): Promise<string> {
  const read = await attempt(() => drafts.ask({ kind: "read-policy", route }));
  return typeof read !== "string" && read.kind === "policy" ? read.yaml : "";
}

function ownerAsked({ snapshot, rights }: ConsoleRequest, form: Form): string | undefined {
  const asked = readAsked(readFields(form));
  const route = asked.ok ? findRouteOf(snapshot, asked.route) : undefined;
  // The page reports an invalid question. It has no owner.
  return route?.owner ?? rights.owners?.[0];
}

async function ownDrafts({ drafts }: SimulatorDeps, { principal, rights }: ConsoleRequest) {
  const own = await drafts.records.list(principal.user.id);
  return own
    .filter(({ owner }) => rights.may("viewer", owner))
    .map((draft) => ({
      id: draft.id,
      href: `${DRAFTS_PATH}/${draft.id}`,
      title: draftTitle(draft),
      atMs: draft.at * 1000,
      untilMs: draft.expiresAt * 1000,
    }));
}

const MAX_USERS = 100;

/** Suggestions only: without the store there are none. */
async function knownUsers({ people }: SimulatorDeps, visit: ConsoleRequest): Promise<readonly string[]> {
  if (!mayNamePeople(visit)) return [];
  const found = await attempt(() => people.list(MAX_USERS, visit.snapshot.settings));
  return typeof found === "string" ? [] : found.map(({ id, email }) => email || id);
}

/** Names of tools in the policy of the route. */
function toolsOf({ snapshot, rights }: ConsoleRequest, key: string): readonly string[] {
  const route = findRouteOf(snapshot, { key });
  if (!route || !rights.may("viewer", route.owner)) return [];
  const leaves = [...route.policy.deny, ...route.policy.approve, ...route.policy.allow].flatMap((rule) => rule.leaves);
  const names = leaves.flatMap(({ criterion: { name }, data }) => {
    const match = name === "mcp_tool" ? data : name === "mcp_tool_argument" ? (data as ArgumentMatch).tool : {};
    const { is, in: some = [] } = match as StringMatch;
    return [...(is === undefined ? [] : [is]), ...some];
  });
  return [...new Set(names)].slice(0, MAX_ROUTES);
}

function visibleRoutes({ snapshot, rights }: ConsoleRequest): readonly string[] {
  const keys: string[] = [];
  for (const { key, owner } of snapshot.routes) {
    if (keys.length >= MAX_ROUTES) break;
    if (rights.may("viewer", owner)) keys.push(key);
  }
  return keys;
}

function ownersOf({ snapshot, rights }: ConsoleRequest): readonly string[] {
  return rights.owners ?? [...new Set(snapshot.routes.map(({ owner }) => owner))].slice(0, MAX_ROUTES);
}
