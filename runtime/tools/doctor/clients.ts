/**
 * The common clients and the needs of each, in the order of its requests.
 *
 * Recorded from the clients themselves if they can be run, else from their vendors' documents and public reports
 * (November 2026).
 */
import * as authorize from "./authorize-rules.ts";
import * as browser from "./browser-rules.ts";
import * as challenge from "./challenge-rules.ts";
import * as enterprise from "./enterprise-rules.ts";
import * as registration from "./registration-rules.ts";
import type { Rule } from "./rule.ts";
import * as server from "./server-rules.ts";
import type { DoctorCheck } from "./visit.ts";

export interface ClientSequence {
  /** Stable, kebab-case. */
  readonly id: string;
  readonly name: string;
  /** Without these it cannot connect, or not stay connected; registration comes on top. */
  readonly needs: readonly Rule[];
  /** Used where client ID documents are accepted; absent: it always registers. */
  readonly byDocument?: readonly Rule[];
  readonly byRegistration: readonly Rule[];
  /** Fixed redirect URIs that it registers; absent: loopback ones with any port. For runtime/guide/mcp-clients.md. */
  readonly redirectUris?: readonly string[];
  /** Without these it connects, with a disadvantage. */
  readonly wants: readonly Rule[];
  /** Whether the server offers it, which is optional; absent: every server does. */
  readonly isOffered?: (visit: DoctorCheck) => Promise<boolean>;
  /** Why it is not offered, and how to offer it. */
  readonly notOffered?: string;
}

/** The metadata requests of every client of revision 2025-06-18 and later. */
const discovery = [
  challenge.challengeNamesMetadata,
  challenge.resourceMetadataFound,
  challenge.resourceMatches,
  server.serverMetadataFound,
  server.issuerMatches,
  server.endpointsNamed,
  server.endpointsSecure,
  server.pkceAdvertised,
] as const;

const publicClient = [server.publicClientsAdvertised, authorize.tokenTakesPublicClients] as const;
const selfRegistered = [server.registrationAdvertised, registration.registersPublic] as const;
const staysConnected = [challenge.badTokenChallenged, authorize.refreshRefusedCleanly] as const;

/** @param asked further needs of this client, between discovery and the token endpoint */
function usualNeeds(...asked: Rule[]): readonly Rule[] {
  return [challenge.initializeChallenged, ...discovery, ...asked, ...publicClient, ...staysConnected];
}

export const CLIENTS: readonly ClientSequence[] = [
  {
    id: "sdk-v1",
    name: "TypeScript SDK v1 hosts",
    needs: usualNeeds(authorize.authorizeBegins),
    byRegistration: [...selfRegistered, registration.registersLoopback],
    wants: [
      challenge.challengeReadsPlainly,
      challenge.largeBodyChallenged,
      server.refreshAdvertised,
      authorize.tokenNotCached,
    ],
  },
  {
    id: "sdk-v2",
    name: "TypeScript SDK v2 hosts (revision 2026-07-28)",
    needs: [
      challenge.discoverChallenged,
      ...discovery,
      authorize.authorizeBegins,
      authorize.unknownScopes,
      authorize.answersCarryIss,
      ...publicClient,
      ...staysConnected,
    ],
    byRegistration: [...selfRegistered, registration.registersNative],
    wants: [server.issAdvertised, challenge.noOfflineAccess, server.documentsAdvertised, server.refreshAdvertised],
  },
  {
    id: "python-sdk",
    name: "Python SDK hosts",
    needs: usualNeeds(challenge.resourceMetadataAtRoot, server.pathFormsAnswered, authorize.authorizeBegins),
    byRegistration: [...selfRegistered, registration.registersLocalhost],
    wants: [challenge.resourceMetadataAtPath],
  },
  {
    id: "mcp-remote",
    name: "mcp-remote",
    needs: [
      challenge.getChallenged,
      challenge.resourceMetadataFound,
      challenge.resourceMatches,
      server.serverMetadataFound,
      server.issuerMatches,
      server.endpointsNamed,
      server.endpointsSecure,
      server.pathFormsAnswered,
      challenge.initializeChallenged,
      authorize.authorizeBegins,
      authorize.unknownScopes,
      ...publicClient,
      ...staysConnected,
    ],
    byRegistration: [...selfRegistered, registration.registersLocalhost],
    wants: [challenge.resourceMetadataAtPath, challenge.resourceMetadataAtRoot],
  },
  {
    id: "inspector",
    name: "MCP Inspector (command line and terminal)",
    needs: usualNeeds(authorize.anyLoopbackPort),
    byRegistration: [...selfRegistered, registration.registersLoopback],
    wants: [server.issAdvertised],
  },
  {
    id: "claude-code",
    name: "Claude Code",
    needs: usualNeeds(authorize.anyLoopbackPort, authorize.slashedResource),
    byDocument: [
      authorize.acceptsDocument(
        "claude-code",
        "https://claude.ai/oauth/claude-code-client-metadata",
        "http://localhost:51123/callback",
      ),
    ],
    byRegistration: [...selfRegistered, registration.registersLocalhost],
    wants: [server.documentsAdvertised, server.refreshAdvertised],
  },
  {
    id: "claude-ai",
    name: "Claude (web, desktop and mobile connectors)",
    needs: usualNeeds(authorize.slashedResource),
    byDocument: [
      authorize.acceptsDocument(
        "claude-ai",
        "https://claude.ai/oauth/mcp-oauth-client-metadata",
        registration.CLAUDE_REDIRECT,
      ),
    ],
    byRegistration: [...selfRegistered, registration.registersWeb],
    redirectUris: [registration.CLAUDE_REDIRECT],
    wants: [server.documentsAdvertised, server.refreshAdvertised],
  },
  {
    id: "chatgpt",
    name: "ChatGPT",
    needs: usualNeeds(authorize.answersCarryIss, authorize.noResource),
    byRegistration: [...selfRegistered, registration.registersWeb],
    // If responses contain iss; else a separate one for each connector, https://chatgpt.com/connector/oauth/<id>.
    redirectUris: ["https://chatgpt.com/connector_platform_oauth_redirect"],
    wants: [server.issAdvertised, server.documentsAdvertised],
  },
  {
    id: "vs-code",
    name: "VS Code",
    needs: usualNeeds(authorize.anyLoopbackPort),
    byDocument: [
      authorize.acceptsDocument("vs-code", "https://vscode.dev/oauth/client-metadata.json", "http://127.0.0.1:33418/"),
    ],
    byRegistration: [...selfRegistered, registration.registersVsCode],
    redirectUris: registration.VSCODE_REDIRECTS,
    wants: [server.openidMetadataFound, server.documentsAdvertised],
  },
  {
    id: "copilot-cli",
    name: "Copilot CLI",
    needs: usualNeeds(authorize.anyLoopbackPort),
    byDocument: [
      authorize.acceptsDocument(
        "copilot-cli",
        "https://github.com/copilot/cli/client-metadata.json",
        "http://127.0.0.1:52714/",
      ),
    ],
    byRegistration: [...selfRegistered, registration.registersLoopback],
    wants: [server.documentsAdvertised],
  },
  {
    id: "codex",
    name: "Codex",
    needs: usualNeeds(authorize.noResource),
    // If responses contain no iss, it names another document, with an ID derived from the server's address.
    byDocument: [
      authorize.acceptsDocument(
        "codex",
        "https://chatgpt.com/oauth/codex/client.json",
        "http://127.0.0.1:53117/callback",
        { needsIss: true },
      ),
    ],
    byRegistration: [...selfRegistered, registration.registersLoopback],
    wants: [server.issAdvertised, server.documentsAdvertised, server.refreshAdvertised],
  },
  {
    id: "cursor",
    name: "Cursor",
    needs: usualNeeds(),
    byRegistration: [...selfRegistered, registration.registersCursor],
    redirectUris: registration.CURSOR_REDIRECTS,
    wants: [registration.keepsCursorScheme],
  },
  {
    id: "revision-2025-03-26",
    name: "Clients of revision 2025-03-26",
    needs: [challenge.initializeChallenged, server.metadataOnHost, authorize.noResource, ...publicClient],
    byRegistration: [...selfRegistered, registration.registersLoopback],
    wants: [],
  },
  {
    id: "web-page",
    name: "Clients inside a web page",
    needs: [
      browser.preflightRoute,
      browser.challengeExposed,
      browser.metadataReadable,
      browser.registrationReachable,
      browser.tokenReachable,
    ],
    byRegistration: [],
    wants: [],
  },
  {
    id: "enterprise",
    name: "Clients by the company's identity provider (ID-JAG)",
    isOffered: enterprise.isOffered,
    notOffered: enterprise.NOT_OFFERED,
    needs: [
      challenge.initializeChallenged,
      ...discovery,
      enterprise.idJagAgreed,
      enterprise.idJagGrantAdvertised,
      enterprise.provenClientsAdvertised,
      enterprise.assertionJudged,
      authorize.tokenNotCached,
      challenge.badTokenChallenged,
    ],
    byRegistration: [],
    wants: [enterprise.introspectionGuarded],
  },
  {
    id: "safety",
    name: "What no client needs and attackers could use",
    needs: [authorize.exactRedirect, authorize.pkceRequired],
    byRegistration: [],
    wants: [browser.foreignOriginRefused],
  },
];

/** The rules for a client, depending on whether documents are accepted. */
export function needsOf(client: ClientSequence, documents: boolean): readonly Rule[] {
  return [...client.needs, ...((documents && client.byDocument) || client.byRegistration)];
}
