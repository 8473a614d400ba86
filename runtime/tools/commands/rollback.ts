/**
 * `gateway rollback`: published slices as they were before, straight in the store, so that it works also when no gateway
 * runs. Running ones follow as they follow any other change. Files are not touched: they have their own history.
 */
import { problemsText } from "../../config/surfaces/documentation.ts";
import { recordPublished } from "../../records/record-published.ts";
import { readBoot } from "../../bundle/boot.ts";
import { createCandidateValidation } from "../../bundle/validation/validate-candidates.ts";
import { createPreviousSliceStore } from "../../bundle/previous-slice-store.ts";
import type { Publication, RollbackRequest } from "../../bundle/publication.ts";
import { Publisher, type PublishOutcome } from "../../bundle/publisher.ts";
import { Validator } from "../../bundle/validation/validator.ts";
import { GatewayError } from "../../shared/errors.ts";
import { createKeys } from "../../shared/keys.ts";
import { silentLog } from "../../shared/log.ts";
import { systemClock, timeText } from "../../shared/clock.ts";
import { commandUser } from "./administration.ts";
import { openRecords } from "../../record-kinds.ts";
import { printError } from "./output.ts";

export interface RollbackResult {
  readonly ok: boolean;
  /** Text to print. */
  readonly text: string;
}

/** @throws GatewayError when something cannot be read or opened */
export async function rollbackSlices(config: string, request: RollbackRequest): Promise<RollbackResult> {
  return withPublisher(config, async (publisher) => resultOf(await publisher.rollback(request, { by: commandUser() })));
}

/** Lists the generations available for a rollback. @throws GatewayError when something cannot be read or opened */
export async function listGenerations(config: string): Promise<RollbackResult> {
  return withPublisher(config, async (publisher) => ({ ok: true, text: table(await publisher.publication()) }));
}

async function withPublisher<T>(config: string, use: (publisher: Publisher) => Promise<T>): Promise<T> {
  const { settings, sealing } = await readBoot(config);
  if (settings.storageUrl === "memory:") {
    const message = 'Cannot roll back: "storage_url" is "memory:", which only the running gateway sees';
    throw new GatewayError("rollback.memory", `${message}; send POST /config/rollback to its admin address`);
  }
  const store = await openRecords(settings.storageUrl, { clock: systemClock, log: silentLog() });
  const validator = new Validator(config, { sealKeys: createKeys(settings.sharedSecrets).derive("kept-slice") });
  const previousSlices = createPreviousSliceStore({ store });
  try {
    const validate = createCandidateValidation(
      validator,
      () => ({ env: process.env, sealing }),
      () => previousSlices.read(),
    );
    const onError = (error: GatewayError): void => printError(error.message);
    const record =
      settings.audit || settings.console ? recordPublished({ store, clock: systemClock, onError }) : undefined;
    return await use(new Publisher({ store, validate, clock: systemClock, record }));
  } finally {
    await validator.close();
    await store.close();
  }
}

function resultOf(outcome: PublishOutcome): RollbackResult {
  if (!outcome.ok) {
    switch (outcome.reason) {
      case "no-such-generation":
        return { ok: false, text: `Cannot roll back: ${outcome.message}` };
      case "invalid":
        return { ok: false, text: `Cannot roll back:\n${problemsText(outcome.problems)}` };
      case "stale":
        return { ok: false, text: "Cannot roll back: the slice changed. Run the command again." };
      default:
        return outcome satisfies never;
    }
  }
  const { changed, generation, slices, replicas, laggards } = outcome;
  if (!changed) return { ok: true, text: `Nothing to do: already in this state (generation ${generation})` };
  const lines = [...slices].map(
    ([owner, digest]) => `  ${owner}: ${digest === null ? "removed" : digest.slice(0, 12)}`,
  );
  const live = laggards.length === 0 ? `live in ${running(replicas)}` : "not live everywhere";
  const behind = laggards.map(({ id, reason }) => `  ${id} ${reason}`);
  return {
    ok: laggards.length === 0,
    text: [`Generation ${generation}, ${live}:`, ...lines, ...behind].join("\n"),
  };
}

function running(replicas: number): string {
  if (replicas === 0) return "no process, because none is running";
  return replicas === 1 ? "the only running process" : `all ${replicas} processes`;
}

function table({ owners, generation }: Publication): string {
  if (generation === 0) return "Nothing was ever published.";
  const rows = owners
    .flatMap(({ owner, versions }) => versions.map((version) => ({ owner, ...version })))
    .sort((a, b) => b.generation - a.generation);
  return rows
    .map(({ generation: at, at: seconds, owner, digest }) => {
      const time = timeText(seconds);
      return `${String(at).padStart(6)}  ${time}  ${owner}  ${digest === null ? "removed" : digest.slice(0, 12)}`;
    })
    .join("\n");
}
