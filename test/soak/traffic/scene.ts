/** What all actors do alike: asking with a bound, telling what came of it, waiting. */
import type { Answer, Browser, Page, Send, SentRequest } from "../../support/browser.ts";
import { createBrowser, findForm, findLink } from "../../support/browser.ts";
import type { Random } from "../../support/random.ts";
import type { Outcome, Recorder } from "../history/history.ts";
import type { Credential } from "../history/operations.ts";
import type { Replica, World } from "../world/types.ts";

/** Nobody waits longer for an answer: it counts as none. */
export const PATIENCE_MS = 12_000;

export interface Scene {
  readonly world: World;
  readonly history: Recorder;
  /** Multiplies all pauses. */
  readonly ease: number;
}

/** One actor: a person, a program, or several that belong together. */
export interface Actor {
  readonly name: string;
  readonly scene: Scene;
  readonly world: World;
  readonly history: Recorder;
  readonly random: Random;
  readonly replica: () => Replica;
  /** Sends each request to any replica. */
  readonly send: Send;
  /** Resolves after about so many milliseconds, or at the end. */
  readonly pause: (ms: number) => Promise<void>;
  /** A new name: "browser-1.17". */
  readonly next: () => string;
  readonly hasEnded: () => boolean;
}

export function createActor(scene: Scene, name: string): Actor {
  const { world, history, ease } = scene;
  const random = world.random(name);
  let count = 0;
  const replica = (): Replica => {
    const first = world.pick(random);
    // A balancer mostly knows who is down, and learns it late.
    return first.up() || random() < 0.2 ? first : (world.replicas.find((each) => each.up()) ?? first);
  };
  return {
    name,
    scene,
    world,
    history,
    random,
    replica,
    send: (request) => within(world.send(replica())(request)),
    pause: (ms) => wait(world.ended, ms * ease * (0.5 + random())),
    next: () => `${name}.${(count += 1)}`,
    hasEnded: () => world.ended.aborted,
  };
}

/** Lives `life` again and again, until traffic ends. What is thrown ends one life: a request without an answer. */
export async function act(actor: Actor, life: () => Promise<void>): Promise<void> {
  while (!actor.hasEnded()) {
    try {
      await life();
    } catch {
      await actor.pause(500);
    }
  }
}

function wait(signal: AbortSignal, ms: number): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
    return undefined;
  });
}

/** @throws Error when it takes longer than anybody waits */
export async function within<T>(work: Promise<T>, ms = PATIENCE_MS): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("no answer")), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Undefined where no answer came. */
export async function ask(world: World, replica: Replica, request: SentRequest): Promise<Answer | undefined> {
  return within(world.send(replica)(request)).catch(() => undefined);
}

/** Of a request to a route: let in, or turned away. What a proxy says when it could not is neither. */
export function outcomeOf(answer: Answer | undefined): Outcome {
  if (!answer || answer.status >= 500 || answer.status === 429) return "unknown";
  if (answer.status >= 300) return "refused";
  // Tool calls are denied inside an answer 200.
  return /"error":\{"code":-3\d{4}/.test(answer.text) ? "refused" : "ok";
}

export interface Visit {
  readonly route: string;
  readonly url: string;
  readonly by: Credential;
  readonly headers?: Readonly<Record<string, string>>;
  /** A tool call by the token of a grant; otherwise a page is asked for. */
  readonly call?: { readonly token: string; readonly tool: string };
  /** Several requests may have the same; default: one of its own. Records show it in the path, or in the arguments of a tool. */
  readonly tag?: string;
  readonly replica?: Replica;
}

/** One request to a route, told to the history. */
export async function visit(actor: Actor, { route, by, ...visited }: Visit): Promise<Answer | undefined> {
  const replica = visited.replica ?? actor.replica();
  const tag = visited.tag ?? actor.next();
  const how = visited.call ? "tool" : "page";
  const request: SentRequest = visited.call
    ? toolCall(visited.url, visited.call.token, visited.call.tool, tag)
    : { method: "GET", url: `${visited.url}/t/${tag}`, ...(visited.headers && { headers: visited.headers }) };
  const operation = actor.history.begin(
    "request",
    { actor: actor.name, replica: replica.name },
    { tag, route, how, ...by },
  );
  const answer = await ask(actor.world, replica, request);
  const bundle = Number(answer?.headers["x-bundle"] ?? Number.NaN);
  operation.end(outcomeOf(answer), {
    ...(answer && { status: answer.status }),
    ...(Number.isNaN(bundle) ? {} : { bundle }),
  });
  return answer;
}

/** A tool call by the token of a grant. */
export function toolCall(url: string, token: string, tool: string, tag: string): SentRequest {
  return {
    method: "POST",
    url,
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: tool, arguments: { tag } },
    }),
  };
}

/** A browser whose requests go to any replica. */
export function openBrowser(actor: Actor): Browser {
  return createBrowser(actor.send);
}

/** Chooses this user at the provider, where it asks. */
export async function chooseUser(browser: Browser, page: Page, email: string): Promise<Page> {
  const link = findLink(page, email);
  return link === undefined ? page : browser.open(link);
}

/** Presses a button of a page: the first form that has this text. @returns undefined where there is none */
export async function press(browser: Browser, page: Page, text: string): Promise<Page | undefined> {
  const part = [...page.text.matchAll(/<form\b.*?<\/form>/gs)].find(([form]) => form.includes(text))?.[0];
  const form = part === undefined ? undefined : findForm({ ...page, text: part });
  return form && browser.submit(page, form, {});
}
