/** All gateways of one variant, started and verified before one upstream. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";

import type { IdentityProvider } from "../../../examples/demo/identity-provider.ts";
import { freePort } from "../../support/ports.ts";
import { type Contender, createStarter, type Setup, type Variant, type WorkName } from "./contender.ts";
import type { Issuer } from "./issuer.ts";
import { PROGRAMS } from "./programs.ts";
import { ROUTES } from "./sizes.ts";
import { recordLines, type Subject, verifyRecords, verifyWork } from "./verify.ts";
import type { Work } from "./works.ts";

export interface World {
  readonly directory: string;
  readonly upstream: number;
  readonly issuer: Issuer;
  readonly provider: IdentityProvider;
  readonly tls: NonNullable<Setup["tls"]>;
  readonly show: (what: string) => void;
}

export interface Started extends Subject {
  readonly pids: readonly number[];
  /** Works that it does as its row says. */
  readonly does: ReadonlySet<WorkName>;
  /** Lines of each file before the first request that was verified. */
  readonly recordsBefore: readonly number[];
  stop(): Promise<void>;
}

/** Starts processes of a contender within limits. */
export interface Contain {
  readonly memoryBytes: number | undefined;
  readonly start: (start: Setup["start"]) => Setup["start"];
}

const UNLIMITED: Contain = { memoryBytes: undefined, start: (start) => start };

export interface Stage {
  readonly started: readonly Started[];
  /** By row: why it does not run at all, or why a work is not measured. */
  readonly missing: ReadonlyMap<string, string>;
  readonly missingWorks: ReadonlyMap<string, ReadonlyMap<WorkName, string>>;
  stop(): Promise<void>;
}

export async function startStage(
  world: World,
  variant: Variant,
  contenders: readonly Contender[],
  works: readonly Work[],
  contain: Contain = UNLIMITED,
): Promise<Stage> {
  const started: Started[] = [];
  const missing = new Map<string, string>();
  const missingWorks = new Map<string, Map<WorkName, string>>();
  const stop = async (): Promise<void> => {
    for (const each of started) await each.stop();
  };
  try {
    for (const contender of contenders) {
      const wanted = works.filter((work) => contender.cannot[work.name] === undefined);
      if (wanted.length === 0) continue;
      world.show(`${variant}: starting ${contender.title}`);
      const reasons = new Map<WorkName, string>();
      missingWorks.set(contender.name, reasons);
      try {
        const start = (): Promise<Started> => startOne(world, variant, contender, wanted, reasons, contain);
        // Once more: another process can take a port meanwhile.
        started.push(await start().catch(start));
      } catch (error) {
        missing.set(contender.name, error instanceof Error ? error.message : String(error));
      }
    }
    const checked = await Promise.all(
      started.map(async (each) => ({ each, wrong: await verifyRecords(each, each.recordsBefore, each.does.size) })),
    );
    for (const { each, wrong } of checked) {
      if (wrong === undefined) continue;
      missing.set(each.contender.name, wrong);
      await each.stop();
    }
    const good = checked.flatMap(({ each, wrong }) => (wrong === undefined ? [each] : []));
    return { started: good, missing, missingWorks, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startOne(
  world: World,
  variant: Variant,
  contender: Contender,
  works: readonly Work[],
  reasons: Map<WorkName, string>,
  contain: Contain,
): Promise<Started> {
  const { upstream, issuer, provider } = world;
  const port = await freePort();
  const directory = join(world.directory, `${contender.name}-${variant}`);
  await mkdir(directory, { recursive: true });
  const starter = createStarter(contender.name, directory, port);
  try {
    const running = await contender.start({
      directory,
      port,
      origin: `${variant === "tls" ? "https" : "http"}://localhost:${port}`,
      upstream,
      hosts: variant === "routes" ? Array.from({ length: ROUTES - 1 }, (_, at) => `app-${at}.localhost`) : [],
      tls: variant === "tls" ? world.tls : undefined,
      issuer,
      provider,
      program: (name) => PROGRAMS[name].install(),
      memoryBytes: contain.memoryBytes,
      start: contain.start(starter.start),
    });
    const credentials = await running.credentials("alice");
    const subject: Subject = { contender, running, port: running.port ?? port, credentials };
    const before = await recordLines(subject);
    const does = new Set<WorkName>();
    for (const work of works) {
      const wrong = await verifyWork(work, subject).catch((error: unknown) => String(error));
      if (wrong === undefined) does.add(work.name);
      else reasons.set(work.name, wrong);
    }
    return { ...subject, pids: starter.pids(), does, recordsBefore: before, stop: starter.stop };
  } catch (error) {
    await starter.stop();
    throw error;
  }
}
