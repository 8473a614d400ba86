/** What is blocked: looked at, blocked and lifted, by the rules of `gateway block` (control/blocking/). */
import type { AdminAction } from "../../../audit/action-record.ts";
import { readBlocks } from "../../../identity/block-records.ts";
import { emailsOf } from "../../../identity/users/emails-of.ts";
import { blocksBody, liftBlockBody, newBlockBody, type BlockRow } from "../../../pages/console/safety/blocks.ts";
import { BLOCK_KINDS, type Block, type BlockTarget } from "../../../policy/blocks.ts";
import { epochSeconds, type Clock } from "../../../shared/clock.ts";
import { GatewayError } from "../../../shared/errors.ts";
import { isNamedByEmail } from "../../../shared/user-id.ts";
import type { Store } from "../../../store/store.ts";
import { blockTarget, readReason, readTarget, readUntil, textOf, unblockTarget } from "../../blocking/blocking.ts";
import type { ActionOutcome, Screen, ScreenPage, Visit } from "../screen.ts";
import { strange } from "../strange.ts";

export interface BlocksScreenDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly recordAction: (action: AdminAction) => void;
}

const PATH = "/.gateway/console/blocks";
const MOST_SHOWN = 200;

export function blocksScreen(deps: BlocksScreenDeps): Screen {
  const { store, clock, recordAction } = deps;

  const blocksFor = async ({ rights }: Visit): Promise<readonly Block[]> => {
    const { blocks } = await readBlocks(store);
    const now = epochSeconds(clock);
    return blocks
      .filter((block) => (block.until === undefined || block.until > now) && rights.may("viewer", ownerOf(block)))
      .toSorted((a, b) => b.since - a.since);
  };

  const showList = async (visit: Visit): Promise<ScreenPage> => {
    const kind = visit.query.get("kind") ?? "";
    const text = (visit.query.get("text") ?? "").slice(0, 256);
    const wanted = text.toLowerCase();
    const found = (await blocksFor(visit)).filter(
      (block) =>
        (kind === "" || block.kind === kind) &&
        [block.name, block.email, block.route, block.reason].some((each) => each?.toLowerCase().includes(wanted)),
    );
    const shown = found.slice(0, MOST_SHOWN);
    const ids = shown.filter(({ kind: of, name }) => of === "user" && !isNamedByEmail(name)).map(({ name }) => name);
    const emails = await emailsOf(store, ids);
    return {
      title: "Blocks",
      body: blocksBody({
        rows: shown.map((block) => rowOf(visit, block, emails)),
        isCut: found.length > shown.length,
        filter: { path: PATH, kind, text },
        kinds: BLOCK_KINDS,
        newHref: mayBlockSomething(visit) ? `${PATH}/new` : undefined,
      }),
    };
  };

  const showNew = (visit: Visit): ScreenPage | undefined => {
    if (!mayBlockSomething(visit)) return undefined;
    const { query } = visit;
    const of = { kind: query.get("kind") ?? "user", name: query.get("name") ?? "", route: query.get("route") ?? "" };
    const form = { action: `${PATH}/new`, csrfToken: visit.csrf("block"), back: PATH };
    return { title: "Block something", body: newBlockBody({ ...of, ...form, kinds: BLOCK_KINDS }) };
  };

  const showLift = async (visit: Visit): Promise<ScreenPage | undefined> => {
    const { query } = visit;
    const wanted = textOf(targetOf((name) => query.get(name) ?? ""));
    const block = (await blocksFor(visit)).find((each) => textOf(each) === wanted);
    if (!block || !visit.rights.may("operator", ownerOf(block))) return undefined;
    const form = { action: `${PATH}/lift`, csrfToken: visit.csrf("unblock"), back: PATH };
    return {
      title: `Lift the block of ${block.kind} ${strange(block.name)}`,
      body: liftBlockBody({ ...form, fields: fieldsOf(block), text: strange(textOf(block), 400) }),
    };
  };

  const by = ({ principal: { user } }: Visit): string => user.email || user.id;
  /** The reason stands in the record of each. */
  const recorder = (visit: Visit, reason: string) => (action: Omit<AdminAction, "by">) =>
    recordAction({ ...action, reason, by: visit.principal.user.id });

  const block = async (visit: Visit, form: Form): Promise<ActionOutcome> => {
    const target = readForm(form);
    const until = form.get("until")?.trim() ?? "";
    const reason = reasonOf(form);
    const said = { reason, by: by(visit), until: until === "" ? undefined : readUntil(until, clock) };
    const all = await blockTarget({ store, clock, record: recorder(visit, reason) }, target, said);
    return { told: `Blocked: ${all.map((each) => strange(textOf(each))).join(", ")}.`, to: PATH };
  };

  const unblock = async (visit: Visit, form: Form): Promise<ActionOutcome> => {
    const target = readForm(form);
    const reason = reasonOf(form);
    const lifted = await unblockTarget({ store, clock, record: recorder(visit, reason) }, target);
    if (lifted.length === 0)
      return { refused: `Nothing was done: ${strange(textOf(target))} is not blocked any more.` };
    return { told: `No longer blocked: ${lifted.map((each) => strange(textOf(each))).join(", ")}.`, to: PATH };
  };

  const action = (name: string, run: (visit: Visit, form: Form) => Promise<ActionOutcome>) => ({
    role: "operator" as const,
    isGrave: true,
    name,
    ownerOf: (_: Visit, form: Form) => ownerOf(targetOf((field) => form.get(field)?.trim() ?? "")),
    run: (visit: Visit, form: Form) => strictly(() => run(visit, form)),
  });

  return {
    path: "blocks",
    name: "Blocks",
    below: "approvals",
    async show(visit) {
      const [page, ...more] = visit.path;
      if (more.length > 0) return undefined;
      if (page === undefined) return showList(visit);
      return page === "new" ? showNew(visit) : page === "lift" ? showLift(visit) : undefined;
    },
    actions: { block: action("Block something", block), unblock: action("Lift a block", unblock) },
  };
}

type Form = ReadonlyMap<string, string>;

/** Of whom a block is that names a route, or a tool on one; all others are nobody's alone. */
function ownerOf({ kind, name, route }: BlockTarget): string | undefined {
  const key = kind === "route" ? name : kind === "tool" ? route : undefined;
  const slash = key?.indexOf("/") ?? -1;
  return slash === -1 ? undefined : key?.slice(0, slash);
}

function mayBlockSomething({ rights }: Visit): boolean {
  return rights.may("operator") || [...rights.byOwner.keys()].some((owner) => rights.may("operator", owner));
}

function targetOf(read: (name: string) => string): BlockTarget {
  const kind = BLOCK_KINDS.find((each) => each === read("kind")) ?? "user";
  const route = read("route");
  return { kind, name: read("name"), ...(kind === "tool" && route !== "" ? { route } : {}) };
}

/** @throws GatewayError `commands.block` */
function readForm(form: Form): BlockTarget {
  const route = form.get("route")?.trim() ?? "";
  return readTarget(form.get("kind") ?? "", form.get("name")?.trim() ?? "", route === "" ? undefined : route);
}

/** @throws GatewayError `commands.block` */
function reasonOf(form: Form): string {
  const reason = readReason(form.get("reason")?.trim() ?? "");
  if (reason === "") throw new GatewayError("commands.block", "Cannot read what to block: a reason must be given");
  return reason;
}

async function strictly(run: () => Promise<ActionOutcome>): Promise<ActionOutcome> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof GatewayError && error.code === "commands.block")
      return { refused: strange(error.message, 400) };
    throw error;
  }
}

function fieldsOf({ kind, name, route }: BlockTarget): readonly (readonly [string, string])[] {
  return [["kind", kind], ["name", name], ...(route === undefined ? [] : [["route", route] as const])];
}

function rowOf({ rights }: Visit, block: Block, emails: ReadonlyMap<string, string>): BlockRow {
  const { kind, name, route = "", reason, by, since, until } = block;
  const isNamed = kind === "user" && !isNamedByEmail(name);
  const mayLift = rights.may("operator", ownerOf(block));
  return {
    kind,
    name: strange(name),
    email: isNamed ? strange(emails.get(name) || (block.email ?? "")) : "",
    route: strange(route),
    reason: strange(reason, 500),
    by: strange(by),
    sinceMs: since * 1000,
    untilMs: until === undefined ? undefined : until * 1000,
    liftHref: mayLift
      ? `${PATH}/lift?${new URLSearchParams(fieldsOf(block).map(([a, b]) => [a, b])).toString()}`
      : undefined,
  };
}
