/**
 * Fault injection: a real gateway, the exchanges through it, and their outcomes, and others', while each guard throws in
 * turn.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { openHttp1, openHttp2, type Open, type Seen } from "./fault-clients.ts";
import { ask, startFaultGateway, type World } from "./fault-gateway.ts";
import { guardedPlaces, THROWN, type FaultAnswer, type FaultQuestion } from "./fault-places.ts";
import {
  ALL_REPEATED,
  GRPC,
  HANDSHAKE,
  MCP,
  OVER_HTTP1,
  OVER_HTTP2,
  PLAIN,
  REPEATED,
  talk,
  TUNNEL,
  type Kind,
  type Scenario,
} from "./fault-scenarios.ts";
import { UNREACHED } from "./fault-unreached.ts";
import { HELD, SHORT } from "./fault-upstream.ts";

const names = guardedPlaces();
/** Polls of feeds make it run. */
const OF_THE_STORE = "shared/thread.ts on message";
const places = new Map([...names].map(([place, name]) => [name, place]));
const LISTED: ReadonlySet<string> = new Set(Object.values(UNREACHED).flat());
let nextId = 0;

export interface Outcome {
  /** Names of the guards that threw. */
  readonly struck: readonly string[];
  readonly thrown: number;
  readonly problems: readonly string[];
}

/** Requests of others: one over each protocol, half of which has come. */
async function openHeld(origin: string, isProxied: boolean): Promise<readonly Open[]> {
  const asked = { origin, isProxied, host: "held.localhost", path: "/hold" };
  const held = [
    openHttp1(asked),
    openHttp1({ ...asked, headers: { accept: "text/event-stream" } }),
    openHttp2(asked),
    openHttp2({ ...asked, host: "heldgrpc.localhost", method: "POST", headers: GRPC, body: SHORT }),
  ];
  const sockets = [
    openHttp1({ ...asked, path: "/socket", headers: HANDSHAKE }),
    openHttp2({ ...asked, path: "/socket", method: "CONNECT", headers: TUNNEL }),
  ];
  await Promise.all(held.map((each) => each.contains(HELD[0])));
  return [...held, ...sockets];
}
interface Strike {
  readonly at: string;
  readonly id: string;
  readonly scenario: Scenario;
  readonly seen: Seen | undefined;
}

/** Each guard that an exchange reaches throws in one of its own, once for each kind of exchange. */
export async function strikeAll(kind: Kind, world: World): Promise<Outcome> {
  const { gateway, origin, token } = await startFaultGateway(kind, world);
  const question = (asked: FaultQuestion): Promise<FaultAnswer> => ask(gateway, asked);
  const held = await openHeld(origin, kind === "clear");
  const problems: string[] = [];
  const struck = new Set<string>();
  const strikes: Strike[] = [];

  const run = async (protocol: string, { asked, act }: Scenario): Promise<Pick<Strike, "id" | "seen">> => {
    const id = `id${(nextId += 1)}`;
    const open = (protocol === "HTTP/2" ? openHttp2 : openHttp1)({
      origin,
      isProxied: kind === "clear",
      host: "app.localhost",
      ...asked,
      headers: { ...asked.headers, ...(asked.host === MCP && { authorization: `Bearer ${token}` }) },
      path: `${asked.path}/${id}`,
    });
    const seen = await endOf(open, act);
    open.cut();
    return { id, seen };
  };

  /** @returns false where the guard did not run */
  const strike = async (place: string, what: string, protocol: string, scenario: Scenario): Promise<boolean> => {
    await question({ arm: place });
    const { id, seen } = await run(protocol, scenario);
    if (!(await question({})).thrown) return false;
    const name = names.get(place) ?? place;
    const at = `${what}, at ${name}`;
    struck.add(name);
    strikes.push({ at, id, scenario, seen });

    if (!seen) problems.push(`${at}: hangs`);
    else if (seen.isWhole && seen.status < 400 && !isAsMeant(seen, scenario)) problems.push(`${at}: ${shown(seen)}`);
    for (const [index, { isOver }] of held.entries()) {
      if (isOver) problems.push(`${at}: ended request ${index} of another`);
    }
    if (gateway.process.exitCode !== null) throw new Error(`${at}: ended the process\n${gateway.log()}`);
    return true;
  };

  for (const [protocol, scenarios] of Object.entries({ "HTTP/1.1": OVER_HTTP1, "HTTP/2": OVER_HTTP2 })) {
    for (const [what, scenario] of Object.entries(scenarios)) {
      await question({});
      const { seen: plain } = await run(protocol, scenario);
      if (scenario.gets && !isAsMeant(plain, scenario)) problems.push(`${protocol}, ${what}: ${shown(plain)}`);

      const { reached } = await question({});
      for (const place of reached) {
        const name = names.get(place) ?? place;
        // Chance decides whether it throws in this exchange.
        if (LISTED.has(name) || ALL_REPEATED.has(name) || name === OF_THE_STORE) continue;
        await strike(place, `${protocol}, ${what}`, protocol, scenario);
      }
    }
  }

  for (const [name, protocol, scenario] of REPEATED[kind]) {
    const { seen } = await run(protocol, scenario);
    if (!isAsMeant(seen, scenario)) problems.push(`before ${name}: ${shown(seen)}`);
    while (!(await strike(places.get(name) ?? name, "again", protocol, scenario)));
  }

  // Without an answer the revocations would not be read again, and the process not end.
  const place = places.get(OF_THE_STORE);
  let isStruck = false;
  while (!isStruck) {
    await question(place === undefined ? {} : { arm: place });
    await run("HTTP/1.1", PLAIN);
    isStruck = (await question({})).thrown;
  }
  struck.add(OF_THE_STORE);

  world.other.finish();
  for (const [index, each] of held.entries()) {
    const seen = await endOf(each, index > 3 ? talk : undefined);
    const body = index > 3 ? "hello" : HELD.join("");
    if (!seen?.isWhole || seen.body !== body) problems.push(`request ${index} of another: ${shown(seen)}`);
  }
  gateway.process.kill("SIGTERM");
  if ((await gateway.ended) !== 0) problems.push("the process did not end as it should");
  const log = gateway.log();
  if (log.includes("uncaught error")) problems.push("an error reached the last resort");
  const told = log.split(THROWN).length - 1;
  if (told < strikes.length) problems.push(`${strikes.length} thrown, ${told} in the log`);
  problems.push(...wrongRecords(strikes, readFileSync(join(gateway.directory, "authorize.log"), "utf8"), world));
  await gateway.close();
  return { struck: [...struck], thrown: strikes.length, problems };
}

interface Line {
  readonly path?: string;
  readonly "request-id"?: string;
  readonly status?: number;
  readonly "failed-by"?: string;
}

/** Guards that report the end of a request: without them, nothing can be recorded of it. */
const TELLS_END = /(?:tellListener|tellClosed|lost|(?:on|once) close)\b/;

/** Problems in the records of struck exchanges, or in their clients' responses. */
function wrongRecords(strikes: readonly Strike[], text: string, { upstream }: World): string[] {
  const lines = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
  const decisions = new Map(lines.map((line) => [line.path?.split("/").at(-1), line]));
  const outcomes = new Map(lines.filter(({ status }) => status).map((line) => [line["request-id"], line]));
  return strikes.flatMap(({ at, id, seen, scenario: { asked, gets } }) => {
    const decision = decisions.get(id);
    const outcome = outcomes.get(decision?.["request-id"]);
    const status = seen?.status ?? 0;
    const wrong = (what: string): string[] => [`${at}: ${what}, client ${shown(seen)}, ${JSON.stringify(outcome)}`];
    // The connection was cut before anything was known of the request.
    if (!decision) return upstream.seen.has(id) || status !== 0 ? wrong("no record") : [];
    // An exception is answered with 500, also for a client that has left by then.
    const isLeft = asked.leaves === true && (outcome?.["failed-by"] === "client" || outcome?.status === 500);
    const isBegun = status === 0 && (isLeft || outcome?.status === (gets?.status ?? 200));
    if (![gets?.status ?? 200, 200, 500, 502].includes(status) && !isBegun) return wrong("status");
    if (!outcome) return TELLS_END.test(at) || gets?.status === 101 ? [] : wrong("no outcome");
    const isCut = seen?.isWhole === false && asked.leaves !== true;
    return isCut && outcome["failed-by"] === "client" ? wrong("the client is blamed") : [];
  });
}

/** @returns undefined where it hangs */
async function endOf(open: Open, act?: Scenario["act"]): Promise<Seen | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => (timer = setTimeout(() => resolve(undefined), HANGS_MS)));
  try {
    return await Promise.race([Promise.resolve(act?.(open)).then(() => open.seen), late]);
  } finally {
    clearTimeout(timer);
  }
}

const HANGS_MS = 20_000;
const shown = (seen: Seen | undefined): string =>
  JSON.stringify(seen && { ...seen, body: `${seen.body.slice(0, 60)} (${seen.body.length})` });
export const isAsMeant = (seen: Seen | undefined, { gets }: Scenario): boolean =>
  gets === undefined || (seen?.status === gets.status && (gets.body === "" || seen.body === gets.body));
