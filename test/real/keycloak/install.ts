/** Keycloak's distribution from Maven Central, built for a database in memory. Needs Java 17 and Maven. */
import { join } from "node:path";

import { cached, run } from "../common/cache.ts";

export const KEYCLOAK_VERSION = "26.7.3";
const UNPACK = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:unpack";

/** @returns its home. @throws Error with the reason where it cannot be had */
export async function installKeycloak(): Promise<string> {
  const name = `keycloak-${KEYCLOAK_VERSION}`;
  const directory = await cached(name, async (fresh) => {
    const artifact = `org.keycloak:keycloak-quarkus-dist:${KEYCLOAK_VERSION}:zip`;
    await run("mvn", ["-B", "-q", UNPACK, `-Dartifact=${artifact}`, `-DoutputDirectory=${fresh}`], fresh);
    await run("sh", ["bin/kc.sh", "build", "--db=dev-mem"], join(fresh, name));
  });
  return join(directory, name);
}
