/** Spring Authorization Server in a program of a few lines, built from Maven Central. Needs Java 17 and Maven. */
import { cp } from "node:fs/promises";
import { join } from "node:path";

import { cached, run } from "../common/cache.ts";

export const SPRING_VERSION = "7.1.2";
/** Version of Spring Boot in pom.xml. */
const BOOT_VERSION = "4.1.2";
/** Version of the program: a new one is built again. */
const PROGRAM_VERSION = 2;

/** @returns path of the program. @throws Error with the reason where it cannot be had */
export async function installSpring(): Promise<string> {
  const directory = await cached(`spring-${SPRING_VERSION}-${BOOT_VERSION}-${PROGRAM_VERSION}`, async (fresh) => {
    for (const name of ["pom.xml", "src"])
      await cp(new URL(name, import.meta.url).pathname, join(fresh, name), { recursive: true });
    await run("mvn", ["-B", "-q", "-DskipTests", "package"], fresh);
  });
  return join(directory, "target/provider-1.jar");
}
