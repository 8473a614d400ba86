/** A real Keycloak on loopback, its realms in memory, set up through its administration API. */
import { startProcess } from "../common/process.ts";
import { installKeycloak } from "./install.ts";

export interface Keycloak {
  readonly origin: string;
  /** A request of the administrator. @throws Error for another answer than 2xx */
  admin<T = unknown>(method: string, path: string, body?: unknown): Promise<T>;
  close(): Promise<void>;
}

const ADMIN = "admin";
const ADMIN_PASSWORD = "admin-of-the-tests";

export async function startKeycloak(): Promise<Keycloak> {
  const home = await installKeycloak();
  const server = await startProcess(
    "sh",
    [
      "bin/kc.sh",
      "start",
      "--optimized",
      "--cache=local",
      "--http-enabled=true",
      "--http-host=127.0.0.1",
      "--http-port=0",
      "--hostname-strict=false",
    ],
    /Listening on: (http:\/\/127\.0\.0\.1:[0-9]+)/,
    {
      cwd: home,
      env: {
        KC_BOOTSTRAP_ADMIN_USERNAME: ADMIN,
        KC_BOOTSTRAP_ADMIN_PASSWORD: ADMIN_PASSWORD,
        // It lives for minutes: the second compiler would not pay.
        JAVA_OPTS_APPEND: "-XX:TieredStopAtLevel=1 -Xmx768m",
      },
    },
  );
  const [, origin = ""] = server.ready;
  let token = "";

  const signIn = async (): Promise<string> => {
    const answer = await fetch(`${origin}/realms/master/protocol/openid-connect/token`, {
      method: "POST",
      body: new URLSearchParams({
        grant_type: "password",
        client_id: "admin-cli",
        username: ADMIN,
        password: ADMIN_PASSWORD,
      }),
    });
    return ((await answer.json()) as { access_token: string }).access_token;
  };

  const send = (method: string, path: string, body?: unknown): Promise<Response> =>
    fetch(`${origin}/admin/realms${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });

  return {
    origin,
    async admin<T>(method: string, path: string, body?: unknown) {
      if (token === "") token = await signIn();
      let answer = await send(method, path, body);
      if (answer.status === 401) {
        token = await signIn();
        answer = await send(method, path, body);
      }
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
      return (text === "" ? undefined : JSON.parse(text)) as T;
    },
    close: () => server.close(),
  };
}
