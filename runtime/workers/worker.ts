/**
 * One worker of `gateway run --workers N`: a whole gateway without an admin listener. `cluster` shares the public port
 * between the workers: the supervisor accepts connections and distributes them.
 *
 * Arguments: the configuration's path, this worker's name.
 */
import { errorText } from "../shared/errors.ts";
import { task } from "../shared/faults/guard.ts";
import { installLastResort } from "./last-resort.ts";
import { startGateway, type Gateway } from "../gateway.ts";
import type { WorkerAnswers, FromWorker, ToWorker } from "./protocol.ts";

const [config = "", worker = ""] = process.argv.slice(2);
const startedMs = performance.now();

// Ctrl-C reaches the whole process group, and the supervisor decides what happens.
process.on("SIGINT", () => {});
try {
  serve(await startGateway({ config, worker }));
} catch (error) {
  sendMessage({ type: "failed", message: errorText(error) }, () => process.exit(1));
}

function serve(gateway: Gateway): void {
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= gateway.close());
  const stop = (): void => void close().finally(() => process.exit(0));
  // The supervisor starts another one after the end, and logs the reason.
  installLastResort((error) => {
    sendMessage({ type: "failed", message: errorText(error) });
    return close();
  }, gateway.closeTimeoutMs);
  process.on("SIGTERM", stop);
  process.on(
    "message",
    task("a message of the supervisor", (message: ToWorker) => {
      switch (message.type) {
        case "ask":
          answerSupervisor(gateway, message.id, message.what);
          break;
        case "look":
          reload(gateway);
          break;
        case "reopen-logs":
          gateway.reopenLogs();
          break;
        case "stop":
          stop();
          break;
        default:
      }
    }),
  );
  sendMessage({ type: "ready", origin: gateway.origin });
}

const answerSupervisor = task(
  "the answer to the supervisor",
  async (gateway: Gateway, id: number, what: keyof WorkerAnswers) =>
    sendMessage({ type: "answer", id, value: await answer(gateway, what) }),
);
const reload = task("the reload", (gateway: Gateway) => gateway.reload());

async function answer(gateway: Gateway, what: keyof WorkerAnswers): Promise<WorkerAnswers[keyof WorkerAnswers]> {
  if (what === "metrics") return gateway.metrics.values();
  const { ready, store, store_failing_seconds: failing } = await gateway.pages.readiness();
  const uptimeSeconds = Math.floor((performance.now() - startedMs) / 1000);
  return {
    ready,
    store: { store, ...(failing !== undefined && { store_failing_seconds: failing }) },
    uptimeSeconds,
    bundle: gateway.status(),
    totals: gateway.metrics.totals(),
    upstreams: gateway.upstreams(),
    blocks: gateway.blocks(),
    webhook: gateway.webhook(),
    certificates: gateway.certificateEnds(),
    acme: gateway.acme(),
    ...gateway.recording(),
  };
}

function sendMessage(message: FromWorker, then: () => void = () => {}): void {
  // Without a channel the supervisor is gone, and `cluster` ends this process.
  if (process.connected) process.send?.(message, then);
  else then();
}
