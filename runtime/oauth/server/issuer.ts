/**
 * The authorization server for MCP clients (OAuth 2.1): every host with an MCP server route is one issuer.
 *
 * Files: metadata and challenge (discovery), clients/ (registration and authentication), authorize/ (request and
 * consent), grants/ (tokens), revoke, introspection/ (state of tokens), grant-records (stored data).
 */
import { endpointOverStore, type Endpoint } from "../../http/endpoint.ts";
import type { Closable } from "../../shared/clock.ts";
import { createLeasedRefreshes } from "../../shared/leased-refresh.ts";
import type { UserSection } from "../../identity/users/user-endpoints.ts";
import { createRateLimit, createUntrustedLimit } from "../../shared/rate-limit.ts";
import { respondUnavailable } from "./answer.ts";
import { authorize } from "./authorize/authorize.ts";
import { showAddress } from "./address-page.ts";
import { challenge } from "./challenge.ts";
import { createClientDocuments } from "./clients/client-documents.ts";
import { createClientKeys } from "./clients/client-keys.ts";
import { decideConsent, showConsent } from "./authorize/consent.ts";
import type { IssuerDeps } from "./deps.ts";
import {
  AUTHORIZE_PATH,
  CONSENT_PATH,
  INTROSPECT_PATH,
  metadataEndpoints,
  REGISTER_PATH,
  REVOKE_PATH,
  RUN_PAGE_PATH,
  RUNS_PATH,
  TOKEN_PATH,
} from "./metadata.ts";
import { createRemoteDocuments } from "./clients/remote-document.ts";
import { register } from "./clients/register.ts";
import { createRequestStates } from "./authorize/request-state.ts";
import { introspect } from "./introspection/introspect.ts";
import { revoke } from "./revoke.ts";
import { handleRuns } from "./runs/request-run.ts";
import { decideRun, runSection, showRun } from "./runs/run-page.ts";
import { Runs } from "./runs/runs.ts";
import type { TokenDeps } from "./grants/token-request.ts";
import { token } from "./grants/token.ts";

export interface IssuerModule extends Closable {
  readonly endpoints: readonly Endpoint[];
  /**
   * The `WWW-Authenticate` value of a 401 on an MCP server route.
   *
   * @param requestPath path of the request, so that clients configured with the route's base get metadata about the
   *   base
   */
  challenge: typeof challenge;
  /** That 401 as a page, for a user who opened the URL in a browser; see address-page.ts. */
  readonly showAddress: typeof showAddress;
  /** Agent runs that are pending the user's decision. */
  readonly userSection: UserSection;
}

/**
 * Limit for registrations per peer: a burst, then one every two seconds, since offices and clouds share an address.
 *
 * Behind a load balancer all clients are one peer, because client-controlled values cannot distinguish them. Then this
 * limits the process to 1,800 an hour after the first 60, and a legitimate client gets the time after which to retry.
 * Each process has its own limit.
 */
const REGISTRATIONS = { peer: { burst: 60, perSecond: 0.5 }, all: { burst: 2000, perSecond: 1 } };
/** Limits authorization requests too long for a URL to about 2,500 records, which live for ten minutes. */
const LONG_REQUESTS = { peer: { burst: 30, perSecond: 0.1 }, all: { burst: 1000, perSecond: 2 } };
/** Invalid assertions per peer. Legitimate clients behind the same address may retry after a second. */
const FAILED_PROOFS = { burst: 60, perSecond: 2 };

export function createIssuer(deps: IssuerDeps): IssuerModule {
  const { store, session, upstream, keys, log, clock, issuerKeys, runEvents } = deps;
  const remote = deps.fetchClientDocument && createRemoteDocuments({ fetch: deps.fetchClientDocument, clock });
  const documents = remote && createClientDocuments({ documents: remote });
  const clientKeys = createClientKeys({ documents: remote });
  const clients = { store, clock, documents };
  const requests = createRequestStates({ store, keys, clock, limit: createUntrustedLimit({ clock }, LONG_REQUESTS) });
  const runs = new Runs({ store, keys, clock, log, revocations: session.revocations });
  const common = {
    store,
    runs,
    session,
    upstream,
    issuerKeys,
    knownTools: deps.knownTools,
    clients,
    clientKeys,
    failedProofs: createRateLimit({ clock }, FAILED_PROOFS.burst, FAILED_PROOFS.perSecond),
    requests,
    keys,
    log,
    clock,
    revocations: session.revocations,
  };
  const rateLimit = createUntrustedLimit({ clock }, REGISTRATIONS);
  const refreshes: TokenDeps["refreshes"] = createLeasedRefreshes();

  const endpoint = (methods: readonly string[], path: string, cors: boolean, handle: Endpoint["handle"]): Endpoint =>
    endpointOverStore({ methods, path, mcp: true, cors, handle }, log, respondUnavailable);

  return {
    endpoints: [
      ...metadataEndpoints({ canFetchDocuments: documents !== undefined, canVerify: issuerKeys !== undefined }),
      endpoint(["POST"], REGISTER_PATH, true, (exchange, snapshot) =>
        register({ ...common, rateLimit }, exchange, snapshot),
      ),
      // No CORS on the two pages: scripts must not use them.
      endpoint(["GET"], AUTHORIZE_PATH, false, (exchange, snapshot) => authorize(common, exchange, snapshot)),
      endpoint(["GET"], CONSENT_PATH, false, (exchange, snapshot) => showConsent(common, exchange, snapshot)),
      endpoint(["POST"], CONSENT_PATH, false, (exchange, snapshot) => decideConsent(common, exchange, snapshot)),
      endpoint(["POST"], TOKEN_PATH, true, (exchange, snapshot) => token({ ...common, refreshes }, exchange, snapshot)),
      endpoint(["POST"], REVOKE_PATH, true, (exchange, snapshot) =>
        revoke({ ...common, externalTokens: session.externalTokens }, exchange, snapshot),
      ),
      endpoint(["POST"], INTROSPECT_PATH, true, (exchange, snapshot) => introspect(common, exchange, snapshot)),
      ...(issuerKeys
        ? [
            endpoint(["GET", "POST", "DELETE"], RUNS_PATH, false, (exchange, snapshot) =>
              handleRuns({ ...common, ...runEvents, issuerKeys, blocks: session.blocks }, exchange, snapshot),
            ),
            endpoint(["GET"], RUN_PAGE_PATH, false, (exchange, snapshot) => showRun(common, exchange, snapshot)),
            endpoint(["POST"], RUN_PAGE_PATH, false, (exchange, snapshot) =>
              decideRun({ ...common, ...runEvents }, exchange, snapshot),
            ),
          ]
        : []),
    ],
    challenge,
    showAddress,
    userSection: runSection(common),
    close: refreshes.close,
  };
}
