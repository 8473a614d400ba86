/** The official MCP SDK for Rust, built into a client and a server, and the guide's program. Needs Rust 1.88. */
import { copyFile } from "node:fs/promises";
import { join } from "node:path";

import { blockWith, readPage } from "../../../support/page-blocks.ts";
import { cached, run } from "../../common/cache.ts";
import { builtFrom, textsOf } from "../built.ts";

/** In Cargo.toml. */
export const RUST_SDK_VERSION = "3.11.0";
const PROGRAMS = ["client", "server", "app"];

/** @returns path of a program: "client", "server" or "app", which is the guide's. @throws Error with the reason where they cannot be had */
export async function installRust(): Promise<(name: string) => string> {
  const texts = new Map([
    ...(await textsOf(import.meta.url, "Cargo.toml", "src/bin/client.rs", "src/bin/server.rs")),
    ["src/bin/app.rs", blockWith(readPage("runtime/guide/identity-header-go-java-rust.md"), "rust", "jsonwebtoken")],
  ]);
  // Dependencies are built once.
  const target = await cached(`rust-target-${RUST_SDK_VERSION}`, () => Promise.resolve());
  const directory = await builtFrom(`rust-sdk-${RUST_SDK_VERSION}`, texts, async (fresh) => {
    await run("cargo", ["build", "--quiet", "--jobs", "2", "--target-dir", target], fresh);
    for (const name of PROGRAMS) await copyFile(join(target, "debug", name), join(fresh, name));
  });
  return (name) => join(directory, name);
}
