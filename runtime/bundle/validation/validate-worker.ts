/** The validation thread. */
import { parentPort, workerData } from "node:worker_threads";

import { send } from "../../shared/thread.ts";
import type { FromValidator, ToValidator } from "./protocol.ts";
import { createValidation, type ValidationSettings } from "./validation.ts";

if (parentPort) serve(parentPort, workerData as ValidationSettings);

function serve(port: NonNullable<typeof parentPort>, settings: ValidationSettings): void {
  const receive = createValidation(settings, (message: FromValidator) => send(port, message));
  // A failure is a bug: it ends the thread, and the main thread reports it.
  port.on("message", (message: ToValidator) => void receive(message));
}
