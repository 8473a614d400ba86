/** No fault, but what operators do: another shared secret. */
import { rotateSecret } from "../../support/rotate-secret.ts";
import { always, type Fault } from "./fault.ts";

/** Each replica is restarted twice, one after the other: nobody loses a session, whoever comes to one that restarts finds the others. */
export const SHARED_SECRET_ROTATED: Fault = {
  name: "shared-secret-rotated",
  disturbs: ["killed", "network"],
  lasts: [0, 0],
  missing: always,
  aim: ({ replicas }) => ({
    replicas,
    async strike() {
      const rotating = replicas.map((replica) => ({
        directory: replica.directory,
        async restart() {
          replica.struck(true);
          await replica.stop();
          await replica.start();
          replica.struck(false);
        },
      }));
      await rotateSecret(rotating);
    },
    heal: async () => {},
  }),
};
