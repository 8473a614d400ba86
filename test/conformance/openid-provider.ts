/**
 * An OpenID provider that is wrong in one way at a time, as the OpenID Foundation's suite plays it to relying parties:
 * each module has an issuer of its own below one origin. What it is asked it reads strictly.
 */
import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, randomUUID, sign } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

type Json = Readonly<Record<string, unknown>>;

/** How an issuer differs from a good one. */
export interface Fault {
  readonly header?: (header: Json) => Json;
  readonly claims?: (claims: Json) => Json;
  readonly userinfo?: (claims: Json) => Json;
  /** Of the ID token; by the provider's key else. */
  readonly signature?: (input: string) => string;
  readonly keys?: (keys: readonly Json[]) => readonly Json[];
}

export interface OpenIdProvider {
  issuerOf(module: string): string;
  /** What the module's issuer was asked, by the name of the endpoint. */
  asked(module: string): readonly string[];
  close(): Promise<void>;
}

export const CLIENT = { id: "gateway", secret: "a secret: of the client" };
export const USER = { sub: "248289761001", email: "alice@example.com", name: "Alice", groups: ["staff"] };

/** @param faults by module; one that is not named is good */
export async function startOpenIdProvider(
  redirectUri: string,
  faults: Readonly<Record<string, Fault>>,
): Promise<OpenIdProvider> {
  const [mine, another] = [
    generateKeyPairSync("rsa", { modulusLength: 2048 }),
    generateKeyPairSync("rsa", { modulusLength: 2048 }),
  ];
  const published = [mine, another].map(({ publicKey }, index) => publish(publicKey, `key-${index}`));
  const codes = new Map<string, { readonly nonce: string; readonly challenge: string; readonly scope: string }>();
  const tokens = new Set<string>();
  const asked = new Map<string, string[]>();

  const idToken = (fault: Fault, claims: Json): string => {
    const header = fault.header?.(GOOD_HEADER) ?? GOOD_HEADER;
    const input = [header, fault.claims?.(claims) ?? claims].map(encode).join(".");
    const good = (text: string): string => sign("RSA-SHA256", Buffer.from(text), mine.privateKey).toString("base64url");
    return `${input}.${(fault.signature ?? good)(input)}`;
  };

  const answers: Readonly<Record<string, (request: Asked) => Answer>> = {
    "/.well-known/openid-configuration": ({ issuer }) => ({
      json: {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        userinfo_endpoint: `${issuer}/userinfo`,
        jwks_uri: `${issuer}/jwks`,
        response_types_supported: ["code"],
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: ["RS256"],
        token_endpoint_auth_methods_supported: ["client_secret_basic"],
        scopes_supported: ["openid", "profile", "email"],
        code_challenge_methods_supported: ["S256"],
      },
    }),
    "/jwks": ({ fault }) => ({ json: { keys: fault.keys?.(published) ?? published.slice(0, 1) } }),
    "/authorize": ({ url }) => {
      const query = Object.fromEntries(url.searchParams);
      const {
        client_id,
        redirect_uri,
        response_type,
        scope = "",
        state,
        nonce,
        code_challenge,
        code_challenge_method,
      } = query;
      const isGood = client_id === CLIENT.id && redirect_uri === redirectUri && response_type === "code";
      const isProtected = Boolean(state && nonce && code_challenge) && code_challenge_method === "S256";
      if (!isGood || !isProtected || !scope.split(" ").includes("openid")) return { status: 400 };
      const code = randomUUID();
      codes.set(code, { nonce: nonce ?? "", challenge: code_challenge ?? "", scope });
      return { location: `${redirectUri}?${new URLSearchParams({ code, state: state ?? "" }).toString()}` };
    },
    "/token": ({ issuer, fault, authorization, body }) => {
      const code = codes.get(body.get("code") ?? "");
      codes.delete(body.get("code") ?? "");
      const verifier = createHash("sha256")
        .update(body.get("code_verifier") ?? "")
        .digest("base64url");
      // RFC 6749 §2.3.1: form-encoded before it is Basic.
      const secret = encodeURIComponent(CLIENT.secret).replaceAll("%20", "+");
      const basic = `Basic ${Buffer.from(`${CLIENT.id}:${secret}`).toString("base64")}`;
      if (authorization !== basic || body.has("client_secret"))
        return { status: 401, json: { error: "invalid_client" } };
      if (verifier !== code?.challenge || body.get("redirect_uri") !== redirectUri) {
        return { status: 400, json: { error: "invalid_grant" } };
      }
      const access_token = randomUUID();
      tokens.add(access_token);
      const now = Math.floor(Date.now() / 1000);
      // Nothing of the person but the subject: the rest is at the userinfo endpoint.
      const claims = { iss: issuer, sub: USER.sub, aud: CLIENT.id, iat: now, exp: now + 300, nonce: code.nonce };
      return { json: { access_token, token_type: "Bearer", expires_in: 300, id_token: idToken(fault, claims) } };
    },
    "/userinfo": ({ fault, authorization }) => {
      if (!tokens.has(authorization.replace(/^Bearer /, ""))) return { status: 401 };
      return { json: fault.userinfo?.(USER) ?? USER };
    },
  };

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? "/", `http://${request.headers.host}`);
    const [, module = "", path = ""] = /^\/([^/]+)(\/.*)$/.exec(url.pathname) ?? [];
    asked.set(module, [...(asked.get(module) ?? []), path]);
    const answer = Object.hasOwn(answers, path)
      ? answers[path]?.({
          url,
          issuer: issuerOf(module),
          fault: faults[module] ?? {},
          authorization: request.headers.authorization ?? "",
          body: new URLSearchParams(await textOf(request)),
        })
      : undefined;
    const { status = 200, json, location } = answer ?? { status: 404 };
    if (location !== undefined) response.writeHead(302, { location });
    else response.writeHead(status, { "content-type": "application/json" });
    response.end(json === undefined ? "{}" : JSON.stringify(json));
  };
  const server = createServer((request, response) => void serve(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const issuerOf = (module: string): string => `${origin}/${module}`;
  return {
    issuerOf,
    asked: (module) => asked.get(module) ?? [],
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Asked {
  readonly url: URL;
  readonly issuer: string;
  readonly fault: Fault;
  readonly authorization: string;
  readonly body: URLSearchParams;
}

interface Answer {
  readonly status?: number;
  readonly json?: Json;
  readonly location?: string;
}

const GOOD_HEADER = { alg: "RS256", typ: "JWT", kid: "key-0" };

function publish(key: KeyObject, kid: string): Json {
  return {
    ...createPublicKey(key.export({ type: "spki", format: "pem" })).export({ format: "jwk" }),
    kid,
    use: "sig",
    alg: "RS256",
  };
}

function encode(value: Json): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
