/**
 * Chooses the client identity toward an upstream's authorization server: the route's own client, our client ID metadata
 * document, or a dynamic registration, in this order (MCP authorization, "Client Registration Approaches").
 */
import type { CompiledRoute, LiveSettings } from "../../../config/compiled.ts";
import type { SafeFetch } from "../../../http/fetch/safe-fetch.ts";
import type { Keys } from "../../../shared/keys.ts";
import type { Log } from "../../../shared/log.ts";
import { epochSeconds, type Clock } from "../../../shared/clock.ts";
import { createCooldowns } from "../../../shared/backoff.ts";
import type { Store, StoredRecord } from "../../../store/store.ts";
import { isAtOrigin, isSameIssuer, originProblem, type AuthorizationServer } from "../discovery/metadata.ts";
import {
  currentRegistrationKey,
  REGISTRATION_SECONDS,
  registrationKey,
  UNUSED_REGISTRATION_SECONDS,
  type ClientReference,
  type CurrentRegistrationRecord,
  type RegistrationRecord,
  type ServerReference,
  type TokenAuthMethod,
} from "../connection-records.ts";
import { askForRegistration, chooseAuthMethod } from "./register.ts";
import { CLIENT_DOCUMENT_PATH, findTarget, type UpstreamTarget } from "../target.ts";
import type { BoundIssuers } from "../discovery/bound-issuer.ts";
import type { EndpointContext } from "./token-endpoint.ts";

export interface ClientChoiceDeps {
  readonly store: Store;
  readonly keys: Keys;
  readonly fetch: SafeFetch;
  readonly clock: Clock;
  readonly log: Log;
  readonly issuers: BoundIssuers;
  /** Overrides the URL of our document, for tests without an https address. */
  readonly clientDocumentUrl?: string | undefined;
}

/** After this many consecutive flows without a return, the registration counts as deleted by the server. */
const MAX_UNANSWERED = 5;
/** A younger unused registration is not replaced: abandoned flows must not exhaust the server's registrations. */
const MIN_AGE_SECONDS = 600;
/** Pause after a failed registration if an older one exists. */
const RETRY_MS = 10 * 60_000;

export type ClientChoice =
  | { readonly ok: true; readonly client: ClientReference }
  | { readonly ok: false; readonly detail: string };

export interface ClientChooser {
  choose(target: UpstreamTarget, server: AuthorizationServer, settings: LiveSettings): Promise<ClientChoice>;
  /**
   * Returns the current credentials of the route or the registration.
   *
   * @param client absent: an assertion of the route authenticates the gateway
   */
  credentialsOf(
    client: ClientReference | undefined,
    route: CompiledRoute,
    server: ServerReference,
  ): Promise<Pick<EndpointContext, "clientSecret" | "clientKey" | "boundIssuer">>;
  /** Call after a flow of this client returned: the server knows the client. */
  answered(client: ClientReference): Promise<void>;
  /** Call if the server no longer knows this registration: the next flow registers again. */
  forget(client: ClientReference): Promise<void>;
}

export function createClientChooser(deps: ClientChoiceDeps): ClientChooser {
  const sealer = deps.keys.sealer("vault");
  const registering = new Map<string, Promise<ClientChoice>>();
  const refused = createCooldowns(deps.clock);

  /** Returns the registration for a new flow: the current one while valid, otherwise a new one. */
  const forFlow = async (
    target: UpstreamTarget,
    server: AuthorizationServer,
    settings: LiveSettings,
  ): Promise<ClientChoice> => {
    const { route } = target;
    const issuer = server.issuer ?? "";
    const problem = foreignRegistration(target, server);
    if (problem !== undefined) return { ok: false, detail: problem };
    const now = epochSeconds(deps.clock);
    const currentKey = currentRegistrationKey(issuer, route.origin);
    const current = await deps.store.get<CurrentRegistrationRecord>(currentKey);
    // Reading does not extend its lifetime; only a returning flow does.
    const stored = current && (await deps.store.get<RegistrationRecord>(current.value.registration));
    // The key determines issuer and host, since the pointer alone could be modified.
    const isOurs =
      stored && registrationKey(issuer, route.origin, stored.value.clientId) === current?.value.registration;
    const known = isOurs ? stored.value : undefined;
    const isUsable = known && (known.secretExpiresAt === undefined || known.secretExpiresAt > now + 60);
    const expiresAt = now + REGISTRATION_SECONDS;
    const useKnown = async (): Promise<ClientChoice | undefined> => {
      if (!current || !isUsable) return undefined;
      const next: CurrentRegistrationRecord = { ...current.value, unanswered: current.value.unanswered + 1 };
      await deps.store.put(currentKey, next, { ifVersion: current.version, expiresAt });
      return { ok: true, client: referenceOf(known, current.value.registration) };
    };
    const isAnswered = current !== undefined && current.value.unanswered < MAX_UNANSWERED;
    if (isAnswered || (isOurs && isYoung(stored, now)) || refused.has(currentKey)) {
      const choice = await useKnown();
      if (choice) return choice;
    }

    if (server.registrationEndpoint === undefined) {
      const detail = `${issuer} supports neither client ID metadata documents nor client registration`;
      return (await useKnown()) ?? { ok: false, detail };
    }
    const answer = await askForRegistration(deps, target, server, settings);
    if (!answer.ok) {
      refused.begin(currentKey, RETRY_MS);
      // Abandoned flows do not prove that the server deleted it.
      return (await useKnown()) ?? answer;
    }
    const key = registrationKey(issuer, route.origin, answer.clientId);
    const record: RegistrationRecord = {
      schema: 1,
      issuer,
      origin: route.origin,
      clientId: answer.clientId,
      ...(answer.clientSecret === undefined ? {} : { clientSecret: sealer.seal(answer.clientSecret, key) }),
      authMethod: answer.authMethod,
      ...(answer.secretExpiresAt === undefined ? {} : { secretExpiresAt: answer.secretExpiresAt }),
      registeredAt: now,
    };
    await keep(deps, key, record, UNUSED_REGISTRATION_SECONDS);
    const next: CurrentRegistrationRecord = { schema: 1, issuer, registration: key, unanswered: 1 };
    // Another replica may have been faster. Both registrations work.
    await deps.store.put(currentKey, next, { ifVersion: current?.version ?? 0, expiresAt });
    const about = { route: route.key, issuer, method: answer.authMethod };
    deps.log.info({ ...about }, "registered with upstream authorization server");
    return { ok: true, client: referenceOf(record, key) };
  };

  return {
    async choose(target, server, settings) {
      const { oauth: configured, route } = target;
      if (configured?.clientId !== undefined) {
        const authMethod = methodOf(target, server);
        return { ok: true, client: { kind: "route", clientId: configured.clientId, authMethod } };
      }
      const document = deps.clientDocumentUrl ?? route.origin + CLIENT_DOCUMENT_PATH;
      // "The client_id MUST be an https URL" (OAuth Client ID Metadata Document §3).
      if (server.readsClientDocuments && document.startsWith("https://")) {
        return { ok: true, client: { kind: "document", clientId: document, authMethod: "none" } };
      }
      const key = currentRegistrationKey(server.issuer ?? "", route.origin);
      let running = registering.get(key);
      if (!running) {
        running = forFlow(target, server, settings).finally(() => registering.delete(key));
        registering.set(key, running);
      }
      return running;
    },

    async credentialsOf(client, route, server) {
      if (client === undefined || client.kind === "route") {
        const target = findTarget(route);
        const { issuer } = server;
        const boundIssuer = target && issuer !== undefined ? await deps.issuers.bind(target, issuer) : undefined;
        if (client === undefined) return { clientSecret: undefined, boundIssuer };
        const { clientSecret, clientKey } = target?.oauth ?? {};
        return { clientSecret, clientKey, boundIssuer };
      }
      const key = registrationKey(server.issuer ?? "", route.origin, client.clientId);
      const isOfIssuer = key === client.registration;
      const sealed = isOfIssuer ? (await read(deps, key))?.clientSecret : undefined;
      // Registrations are per issuer.
      return {
        clientSecret: sealed === undefined ? undefined : sealer.open(sealed, key)?.toString(),
        boundIssuer: client.kind === "document" || isOfIssuer ? server.issuer : undefined,
      };
    },

    answered: (client) =>
      change(deps, client, (current) => (current.unanswered === 0 ? current : { ...current, unanswered: 0 })),

    async forget(client) {
      if (client.registration === undefined) return;
      // The record stays: other users' tokens need it, as do new flows if the server rejects another registration.
      await change(deps, client, (current) => ({ ...current, unanswered: MAX_UNANSWERED }));
      deps.log.warn({ client: client.clientId }, "upstream client registration lost");
    },
  };
}

function keep(
  { store, clock }: ClientChoiceDeps,
  key: string,
  record: RegistrationRecord,
  seconds = REGISTRATION_SECONDS,
): Promise<unknown> {
  return store.put(key, record, { expiresAt: epochSeconds(clock) + seconds });
}

/** Reads a registration and extends its lifetime, since it is used. */
async function read(deps: ClientChoiceDeps, key: string): Promise<RegistrationRecord | undefined> {
  const stored = await deps.store.get<RegistrationRecord>(key);
  const left = (stored?.expiresAt ?? 0) - epochSeconds(deps.clock);
  if (stored && left < REGISTRATION_SECONDS / 2) await keep(deps, key, stored.value);
  return stored?.value;
}

async function change(
  deps: ClientChoiceDeps,
  client: ClientReference,
  next: (current: CurrentRegistrationRecord) => CurrentRegistrationRecord,
): Promise<void> {
  const registration = client.registration === undefined ? undefined : await read(deps, client.registration);
  if (!registration) return;
  const key = currentRegistrationKey(registration.issuer, registration.origin);
  const current = await deps.store.get<CurrentRegistrationRecord>(key);
  if (!current || current.value.registration !== client.registration) return;
  const value = next(current.value);
  if (value === current.value) return;
  const expiresAt = epochSeconds(deps.clock) + REGISTRATION_SECONDS;
  await deps.store.put(key, value, { ifVersion: current.version, expiresAt });
}

function isYoung({ value, expiresAt }: StoredRecord<RegistrationRecord>, now: number): boolean {
  const isUnused = (expiresAt ?? 0) <= value.registeredAt + UNUSED_REGISTRATION_SECONDS;
  return isUnused && now - value.registeredAt < MIN_AGE_SECONDS;
}

/**
 * Rejects a registration endpoint of another server. A client registered there would be sent to this issuer's token
 * endpoint: the issuer could get a client that it could not register itself, such as in our private network. `iss`
 * support does not prevent that.
 */
function foreignRegistration({ server: { authorizationServerUrl } }: UpstreamTarget, server: AuthorizationServer) {
  const { issuer = "", tokenEndpoint, registrationEndpoint = tokenEndpoint } = server;
  const isNamed = authorizationServerUrl !== undefined && isSameIssuer(authorizationServerUrl, issuer);
  if (isNamed || [tokenEndpoint, issuer].some((own) => isAtOrigin(registrationEndpoint, own))) return undefined;
  return originProblem(issuer, registrationEndpoint);
}

function referenceOf(record: RegistrationRecord, key: string): ClientReference {
  return { kind: "registered", clientId: record.clientId, authMethod: record.authMethod, registration: key };
}

/** Authentication method of the route's own client. */
function methodOf(target: UpstreamTarget, server: AuthorizationServer): TokenAuthMethod {
  if (target.oauth?.clientKey) return "private_key_jwt";
  return target.oauth?.clientSecret === undefined ? "none" : (styleOf(target) ?? chooseAuthMethod(server, false));
}

function styleOf(target: UpstreamTarget): TokenAuthMethod | undefined {
  switch (target.oauth?.authStyle) {
    case "header":
      return "client_secret_basic";
    case "params":
      return "client_secret_post";
    case undefined:
      return undefined;
    default:
      return target.oauth?.authStyle satisfies undefined;
  }
}
