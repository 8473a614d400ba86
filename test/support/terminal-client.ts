/**
 * The user of a command-line client: when the program prints the sign-in address, a scripted browser chooses a user,
 * consents, and follows the redirect back to the program's own loopback listener.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";

import { HOOK_MS } from "./limits.ts";
import { createBrowser, findForm, findLink } from "./browser.ts";

const AUTHORIZE_URL = /https?:\/\/\S+\/\.gateway\/mcp\/authorize\?[\w%.~&=+-]+/;

/** Environment of a client program: its files are below `home`, and any browser that it starts does nothing. */
export function clientEnvironment(home: string): Record<string, string> {
  return { PATH: process.env["PATH"] ?? "", HOME: home, BROWSER: "true" };
}

export interface SignInWatch {
  /** Sign-in addresses that the program printed. */
  readonly asked: readonly string[];
  readonly text: () => string;
  /** Resolves when every sign-in so far is through. @throws what went wrong in the browser */
  settled(): Promise<void>;
}

/** Reads a program's output and signs in at each address that it prints. @param user text of the link at the provider */
export function signInWhenAsked(stream: Readable, user: string): SignInWatch {
  const asked: string[] = [];
  const signIns: Promise<unknown>[] = [];
  let text = "";
  stream.on("data", (chunk: Buffer) => {
    text += chunk.toString("utf8");
    const url = AUTHORIZE_URL.exec(text.slice(0, text.lastIndexOf("\n") + 1))?.[0];
    if (url === undefined || asked.includes(url)) return;
    asked.push(url);
    // Stored as a value: a rejection without a handler would end the test run.
    signIns.push(signIn(url, user).catch((error: unknown) => error));
  });
  return {
    asked,
    text: () => text,
    async settled() {
      for (const outcome of await Promise.all(signIns)) if (outcome instanceof Error) throw outcome;
    },
  };
}

/** Completes the sign-in in a scripted browser, back to the client. */
export async function signIn(authorizeUrl: string, user: string): Promise<void> {
  const browser = createBrowser();
  let page = await browser.open(authorizeUrl);
  const link = findLink(page, user);
  if (link !== undefined) page = await browser.open(link);
  const form = findForm(page, "/.gateway/mcp/consent");
  if (form) page = await browser.submit(page, form, { decision: "approve" });
  if (page.status !== 200) throw new Error(`Cannot sign in: ${page.status} ${page.text}`);
}

export interface Finished {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly asked: readonly string[];
}

/** Runs a client program to its end, signing in where it asks. @param args arguments of node */
export async function runClient(
  args: readonly string[],
  options: { readonly home: string; readonly user: string; readonly env?: Readonly<Record<string, string>> },
): Promise<Finished> {
  const child = spawn(process.execPath, args, {
    stdio: ["ignore", "pipe", "pipe"],
    timeout: HOOK_MS,
    env: { ...clientEnvironment(options.home), ...options.env },
  });
  let stdout = "";
  child.stdout.on("data", (chunk: Buffer) => void (stdout += chunk.toString("utf8")));
  const watch = signInWhenAsked(child.stderr, options.user);
  const [exitCode] = (await once(child, "close")) as [number | null];
  await watch.settled();
  return { exitCode, stdout, stderr: watch.text(), asked: watch.asked };
}
