/** Secrets are in a secret store. It goes away, and comes back with another key for the builds server. */
import { randomUUID } from "node:crypto";

import { LONG_MS } from "../../../test/support/limits.ts";
import { until } from "../../demo/until.ts";
import { atEach, call, mcpServer, type Scene } from "../scene.ts";

/** A replica reads again what is 10 seconds old, and asks a store that was away at growing pauses of up to a minute. */

export async function loseSecretStore({ steps, stage }: Scene): Promise<void> {
  await steps.step("the secret store is sealed; what follows goes on without it", async () => {
    stage.vault.mode = "sealed";
  });
}

/** Until here the store has been away. */
export async function rotateSecret(scene: Scene): Promise<void> {
  const { steps, stage, alice } = scene;
  const { builds, vault } = stage;
  const key = { old: builds.lastKey(), next: randomUUID() };
  scene.tokens.push(key.next);
  const listBuilds = async (): Promise<void> => {
    const { status } = await call(alice.assistant?.token() ?? "", mcpServer(scene, "builds"), "list_builds");
    steps.equal(status, 200);
  };
  await steps.step("both replicas have kept the last secrets, and say so", async () => {
    let said = "";
    await atEach(scene, async (replica) => {
      const heard = async (): Promise<boolean> => {
        const { degraded } = await stage.status(replica);
        said = degraded.flatMap(({ problems }) => problems).find((each) => each.includes("vault:kv/builds#key")) ?? "";
        return said !== "";
      };
      await until(heard, "a replica says it", LONG_MS);
      steps.match(said, /its last value stays/);
      const { degraded, vault: store } = await stage.status(replica);
      steps.ok(
        degraded.every(({ late, standing }) => late === true && standing === "kept"),
        "it is not as before",
      );
      steps.equal(store?.reachable, false);
      await listBuilds();
      steps.equal(builds.lastKey(), key.old);
    });
    return said.slice(said.indexOf("Cannot"));
  });
  await steps.step(
    "the store is back with another key for the builds server: both use it without a restart",
    async () => {
      builds.keys.add(key.next);
      vault.write("kv/data/builds", { key: key.next });
      vault.mode = "active";
      await atEach(scene, async (replica) => {
        const isUsed = async (): Promise<boolean> => {
          await listBuilds();
          return builds.lastKey() === key.next;
        };
        await until(isUsed, "a replica uses it", LONG_MS);
        await until(async () => (await stage.status(replica)).degraded.length === 0, "nothing is late", LONG_MS);
      });
      builds.keys.delete(key.old);
      await atEach(scene, listBuilds);
      steps.ok(alice.assistant?.hasEnded() === false, "an open stream has ended");
      return "the old one is taken away, and a stream that was open still is";
    },
  );
}
