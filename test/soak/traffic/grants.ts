/** MCP clients by hand: consent, codes, refresh tokens, sometimes sent twice at once to two replicas; calls, and the end of a grant. */
import type { Answer, Browser } from "../../support/browser.ts";
import {
  clientProof,
  createOAuthClient,
  createPkce,
  REDIRECT_URI,
  type Registration,
} from "../../support/oauth-client.ts";
import { mark, type Outcome } from "../history/history.ts";
import type { Replica } from "../world/types.ts";
import { act, ask, createActor, openBrowser, press, visit, type Actor, type Scene } from "./scene.ts";

/** A client of one user, as it knows itself. */
export interface Holder {
  readonly user: string;
  readonly browser: Browser;
  readonly registration: Registration;
  readonly resource: string;
}

export interface Grant extends Holder {
  readonly id: string;
  access: string;
  refresh: string;
  /** When the access token came. */
  since: number;
}

export async function register(actor: Actor, user: string, resource: string, name: string): Promise<Holder> {
  const browser = openBrowser(actor);
  const oauth = createOAuthClient({ resource, send: actor.send, browser });
  return { user, browser, resource, registration: await oauth.register({ client_name: name }) };
}

/** Consent and code, and tokens for the code. @param doubles the code is sent to two replicas at once */
export async function obtain(actor: Actor, holder: Holder, doubles: boolean): Promise<Grant | undefined> {
  const { history, world } = actor;
  const { user, browser, registration, resource } = holder;
  const client = registration.client_id;
  const oauth = createOAuthClient({ resource, send: actor.send, browser });
  const { verifier, challenge } = createPkce();
  const consent = history.begin("consent", { actor: actor.name }, { user, client });
  const outcome = await oauth
    .authorize({ clientId: client, redirectUri: REDIRECT_URI, challenge, user })
    .catch(() => undefined);
  const code = outcome?.at === "client" ? outcome.parameters["code"] : undefined;
  const isBlocked = outcome?.at === "page" && outcome.page.status === 403;
  consent.end(
    code === undefined ? (isBlocked ? "refused" : "unknown") : "ok",
    code === undefined ? {} : { code: mark(code) },
  );
  if (code === undefined) return undefined;

  const id = actor.next();
  const form = {
    grant_type: "authorization_code",
    code,
    redirect_uri: REDIRECT_URI,
    code_verifier: verifier,
    resource,
  };
  const facts = { what: "code", value: mark(code), user, client } as const;
  const send = async (replica: Replica): Promise<Answer | undefined> => {
    const operation = history.begin("redeem", { actor: actor.name, replica: replica.name }, facts);
    const answer = await sendToken(actor, holder, replica, form);
    operation.end(tokenOutcome(answer), { ...toldOf(answer), grant: id });
    return answer;
  };
  const answers = await Promise.all(twoOf(actor, doubles).map(send));
  const tokens = answers.find((each) => each?.status === 200)?.json();
  if (!tokens) return undefined;
  return {
    ...holder,
    id,
    access: String(tokens["access_token"]),
    refresh: String(tokens["refresh_token"]),
    since: world.now(),
  };
}

/** Exchanges its refresh token. @returns whether the grant can go on, as far as anybody knows */
export async function refresh(actor: Actor, grant: Grant, doubles: boolean): Promise<boolean> {
  const { history, world } = actor;
  const old = grant.refresh;
  const facts = {
    what: "refresh-token",
    value: mark(old),
    grant: grant.id,
    user: grant.user,
    client: grant.registration.client_id,
  } as const;
  const send = async (replica: Replica): Promise<Answer | undefined> => {
    const operation = history.begin("redeem", { actor: actor.name, replica: replica.name }, facts);
    const answer = await sendToken(actor, grant, replica, { grant_type: "refresh_token", refresh_token: old });
    const made = answer?.status === 200 ? String(answer.json()["refresh_token"]) : undefined;
    operation.end(tokenOutcome(answer), { ...toldOf(answer), ...(made !== undefined && { made: mark(made) }) });
    return answer;
  };
  // As clients do that heard nothing: again, for as long as the same answer is promised.
  const until = world.now() + 20_000;
  for (let isFirst = true; isFirst || (world.now() < until && !actor.hasEnded()); isFirst = false) {
    const answers = await Promise.all(twoOf(actor, doubles && isFirst).map(send));
    const done = answers.find((each) => each?.status === 200);
    if (done) {
      const tokens = done.json();
      Object.assign(grant, { access: tokens["access_token"], refresh: tokens["refresh_token"], since: world.now() });
      return true;
    }
    if (answers.some((each) => tokenOutcome(each) === "refused")) return false;
    await actor.pause(700);
  }
  return false;
}

/** Two are two different ones, where there are two. */
function twoOf({ world, replica }: Actor, doubles: boolean): readonly Replica[] {
  const first = replica();
  if (!doubles) return [first];
  const others = world.replicas.filter((each) => each !== first);
  return [first, others.find((each) => each.up()) ?? first];
}

function sendToken(
  { world }: Actor,
  { registration }: Holder,
  replica: Replica,
  form: Readonly<Record<string, string>>,
): Promise<Answer | undefined> {
  return ask(world, replica, {
    method: "POST",
    // The authorization server of an MCP server is its own host.
    url: `${world.addresses.origin}/.gateway/mcp/token`,
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({ ...form, ...clientProof(registration) }).toString(),
  });
}

function toldOf(answer: Answer | undefined): { readonly status?: number; readonly error?: string } {
  if (!answer) return {};
  const error = answer.status === 200 ? undefined : /"error":"([a-z_]+)"/.exec(answer.text)?.[1];
  return { status: answer.status, ...(error !== undefined && { error }) };
}

function tokenOutcome(answer: Answer | undefined): Outcome {
  if (answer?.status === 200) return "ok";
  return answer && answer.status < 500 && answer.status !== 429 ? "refused" : "unknown";
}

export function call(actor: Actor, grant: Grant, route: "tools" | "connected", replica?: Replica) {
  const { id, user, registration, access, resource } = grant;
  return visit(actor, {
    route,
    url: resource,
    by: { user, grant: id, client: registration.client_id },
    call: { token: access, tool: "echo" },
    ...(replica && { replica }),
  });
}

/**
 * By the client itself (RFC 7009), or by its user's page, which withdraws the consent too.
 *
 * @returns whether it is certain that the grant has ended
 */
export async function endGrant(actor: Actor, grant: Grant): Promise<boolean> {
  const { history, world, random } = actor;
  const { user, browser, registration } = grant;
  const name = String(registration["client_name"]);
  const by = { actor: actor.name };
  if (random() < 0.5) {
    const operation = history.begin("revoke", by, { right: "grant", target: grant.id });
    const answer = await ask(world, actor.replica(), {
      method: "POST",
      url: `${world.addresses.origin}/.gateway/mcp/revoke`,
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({ token: grant.refresh, ...clientProof(registration) }).toString(),
    });
    const hasEnded = answer?.status === 200;
    operation.end(hasEnded ? "ok" : "unknown");
    return hasEnded;
  }
  const page = await browser.open(`${world.addresses.pages}/.gateway/`);
  if (!page.text.includes(`End access of ${name}`)) return false;
  const withdraws = `${user} ${registration.client_id}`;
  const operation = history.begin("revoke", by, { right: "grant", target: grant.id, withdraws });
  try {
    const after = await press(browser, page, `End access of ${name}`);
    const hasEnded = after?.status === 200 && !after.text.includes(`End access of ${name}`);
    operation.end(hasEnded ? "ok" : "unknown");
    return hasEnded;
  } catch {
    operation.end("unknown");
    return false;
  }
}

/** A client tries on for so long after its grant was ended. */
const TRIES_ON_MS = 4_000;
/** Much sooner than its access token ends: what is looked for happens at refreshes. */
const REFRESH_EVERY_MS = 4_000;

/**
 * @param kept grants as they are left, for the end
 * @param calls at least so many are made by a grant
 */
export function useGrants(scene: Scene, name: string, user: string, kept: Grant[], calls = 40): Promise<void> {
  const actor = createActor(scene, name);
  const { world, random } = actor;
  let unused: Holder | undefined;
  return act(actor, async () => {
    // The user's page tells applications apart by their names: none is the beginning of another one.
    unused ??= await register(actor, user, world.addresses.tools, `Client (${actor.next()})`);
    const holder = unused;
    // Of two that do not come at the very same time the second one ends what the first has got.
    const grant = await obtain(actor, holder, random() < 0.25);
    if (!grant) return actor.pause(1_000);
    kept.push(grant);
    // With a second grant of the same client that page would end one of both.
    unused = undefined;
    for (let count = calls * (1 + 3 * random()); count > 0 && !actor.hasEnded(); count -= 1) {
      if (world.now() - grant.since > REFRESH_EVERY_MS * (0.3 + random())) {
        if (!(await refresh(actor, grant, random() < 0.5))) return undefined;
      }
      const answer = await call(actor, grant, "tools");
      if (answer?.status === 401 && !(await refresh(actor, grant, false))) return undefined;
      await actor.pause(200);
    }
    // Some are left alive, to the end.
    if (actor.hasEnded() || random() < 0.3) return undefined;
    // Its next one comes, for which the user is not asked again where the client ended the last one itself.
    if (await endGrant(actor, grant)) unused = holder;
    const until = world.now() + TRIES_ON_MS;
    while (world.now() < until && !actor.hasEnded()) {
      await call(actor, grant, "tools");
      await actor.pause(200);
    }
    await refresh(actor, grant, false);
    return undefined;
  });
}
