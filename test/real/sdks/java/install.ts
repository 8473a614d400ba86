/** The official MCP SDK for Java, with a client, a server and the guide's program. Needs Java 17 and Maven. */
import { join } from "node:path";

import { blockWith, readPage } from "../../../support/page-blocks.ts";
import { run } from "../../common/cache.ts";
import { builtFrom, textsOf } from "../built.ts";

/** In pom.xml. */
export const JAVA_SDK_VERSION = "2.1.0";

const COPY = ["dependency:copy-dependencies", "-DoutputDirectory=lib"];

/** @returns the class path of the programs Client, Server and App, which is the guide's. @throws Error with the reason where they cannot be had */
export async function installJava(): Promise<string> {
  const texts = new Map([
    ...(await textsOf(import.meta.url, "pom.xml", "src/Client.java", "src/Server.java")),
    ["src/App.java", blockWith(readPage("runtime/guide/identity-header-go-java-rust.md"), "java", "nimbusds")],
  ]);
  const directory = await builtFrom(`java-sdk-${JAVA_SDK_VERSION}`, texts, async (fresh) => {
    await run("mvn", ["-B", "-q", ...COPY], fresh);
    const sources = ["Client", "Server", "App"].map((name) => `src/${name}.java`);
    await run("javac", ["-cp", "lib/*", "-d", "classes", ...sources], fresh);
  });
  return [join(directory, "classes"), join(directory, "lib/*")].join(":");
}
