/** People with browsers: sign in, look at pages, sign out; and sessions for streams. */
import { findForm, type Browser } from "../../support/browser.ts";
import { act, chooseUser, createActor, openBrowser, visit, type Actor, type Scene } from "./scene.ts";

export interface Session {
  readonly id: string;
  readonly user: string;
  readonly browser: Browser;
  /** Of the host of routes; good for as long as the session is. */
  readonly cookie: string;
}

/** @returns undefined where it did not work */
export async function signIn(actor: Actor, user: string): Promise<Session | undefined> {
  const session = await trySignIn(actor, user);
  return session === "refused" ? undefined : session;
}

/** @returns undefined where nobody knows why it did not work */
export async function trySignIn(actor: Actor, user: string): Promise<Session | "refused" | undefined> {
  const { world, history } = actor;
  const id = actor.next();
  const operation = history.begin("sign-in", { actor: actor.name }, { user });
  const browser = openBrowser(actor);
  try {
    const page = await chooseUser(browser, await browser.open(world.addresses.web), user);
    const cookie = browser.cookieHeader(new URL(world.addresses.web).hostname);
    const isIn = page.status === 200 && page.url.startsWith(world.addresses.web);
    operation.end(isIn ? "ok" : page.status === 403 ? "refused" : "unknown", isIn ? { session: id } : {});
    if (isIn) return { id, user, browser, cookie };
    return page.status === 403 ? "refused" : undefined;
  } catch {
    operation.end("unknown");
    return undefined;
  }
}

export async function signOut(actor: Actor, { id: session, user, browser }: Session): Promise<void> {
  const page = await browser.open(`${actor.world.addresses.pages}/.gateway/sign_out`);
  const form = findForm(page, "/.gateway/sign_out");
  if (!form) return;
  const operation = actor.history.begin("sign-out", { actor: actor.name }, { session, user });
  try {
    // The provider is told afterwards, by the browser.
    const after = await browser.submit(page, form, {}, actor.world.provider.issuer);
    operation.end(after.left || after.status === 200 ? "ok" : "unknown");
  } catch {
    operation.end("unknown");
  }
}

export function look(actor: Actor, { id: session, user, cookie }: Session) {
  return visit(actor, {
    route: "web",
    url: actor.world.addresses.web,
    by: { session, user },
    headers: { cookie },
  });
}

/** A browser tries on for so long after its sign-out. */
const TRIES_ON_MS = 4_000;

/**
 * @param kept sessions that are left as they are, for the end
 * @param pages at least so many are looked at in a session
 */
export function browse(scene: Scene, name: string, user: string, kept: Session[], pages = 20): Promise<void> {
  const actor = createActor(scene, name);
  return act(actor, async () => {
    const session = await signIn(actor, user);
    if (!session) return actor.pause(1_000);
    kept.push(session);
    for (let count = pages * (1 + 3 * actor.random()); count > 0 && !actor.hasEnded(); count -= 1) {
      const answer = await look(actor, session);
      // Somebody else ended it.
      if (answer && answer.status >= 300 && answer.status < 500) return actor.pause(2_000);
      await actor.pause(250);
    }
    if (actor.hasEnded() || actor.random() < 0.3) return undefined;
    await signOut(actor, session);
    const until = actor.world.now() + TRIES_ON_MS;
    while (actor.world.now() < until && !actor.hasEnded()) {
      await look(actor, session);
      await actor.pause(200);
    }
    return undefined;
  });
}
