/** The official MCP SDK for Go, built into a client and a server, and the guide's program. Needs Go 1.26. */
import { join } from "node:path";

import { blockWith, readPage } from "../../../support/page-blocks.ts";
import { run } from "../../common/cache.ts";
import { builtFrom, textsOf } from "../built.ts";

export const GO_SDK_VERSION = "1.8.0";

const MODULE = `module gateform.test/sdks

go 1.26

require (
	github.com/MicahParks/keyfunc/v3 v3.7.0
	github.com/golang-jwt/jwt/v5 v5.3.1
	github.com/modelcontextprotocol/go-sdk v${GO_SDK_VERSION}
)
`;

/** @returns path of a program: "client", "server" or "app", which is the guide's. @throws Error with the reason where they cannot be had */
export async function installGo(): Promise<(name: string) => string> {
  const texts = new Map([
    ...(await textsOf(import.meta.url, "client/main.go", "server/main.go")),
    ["app/main.go", blockWith(readPage("runtime/guide/identity-header-go-java-rust.md"), "go", "keyfunc")],
    ["go.mod", MODULE],
  ]);
  const directory = await builtFrom(`go-sdk-${GO_SDK_VERSION}`, texts, async (fresh) => {
    await run("go", ["mod", "tidy"], fresh);
    await run("go", ["build", "-p", "2", "-ldflags", "-s -w", "-o", join(fresh, "bin/"), "./..."], fresh);
  });
  return (name) => join(directory, "bin", name);
}
