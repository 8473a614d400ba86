/** The admin API on a listener of its own, over a store in memory that can be made to fail. */
import type { AdminAction } from "../../runtime/audit/action-record.ts";
import { createAdminListener } from "../../runtime/admin-listener/listener.ts";
import { createMintedTokens } from "../../runtime/admin-listener/minted-tokens.ts";
import { objectEndpoint } from "../../runtime/admin-listener/objects/endpoint.ts";
import { createRevocations } from "../../runtime/identity/revocations.ts";
import { recordFormats } from "../../runtime/record-kinds.ts";
import { hashSecret } from "../../runtime/shared/keys.ts";
import { silentLog } from "../../runtime/shared/log.ts";
import { withFormats } from "../../runtime/store/formats.ts";
import { createTestClock } from "./clock.ts";
import { createBreakableStore } from "./store.ts";

export const OPERATOR_TOKEN = "operator-token-of-the-test";
export const TEAM_TOKEN = "team-token-of-the-test";

export interface ApiBody {
  readonly error?: string;
  readonly message?: string;
  readonly items: readonly { readonly id: string; readonly name: string; readonly user: string }[];
  readonly next?: string;
}

export interface ApiAnswer {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
  json(): ApiBody;
}

export interface ApiOptions {
  readonly method?: string;
  /** Default: the operator's; "": none. */
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | object;
  /** Default: another one for each change. */
  readonly key?: string;
}

export type AdminApi = Awaited<ReturnType<typeof openAdminApi>>;

export async function openAdminApi() {
  const clock = createTestClock();
  const breakable = createBreakableStore(clock);
  const store = withFormats(breakable.store, recordFormats);
  const log = silentLog();
  const revocations = createRevocations({ store, clock, log, longestLifetime: () => 3600 });
  const actions: AdminAction[] = [];
  const mintedTokens = createMintedTokens({ store, clock });
  const nothing = () => Promise.reject(new Error("not asked"));
  const record = (action: AdminAction): void => void actions.push(action);
  const admin = await createAdminListener({
    address: "127.0.0.1:0",
    token: OPERATOR_TOKEN,
    publishTokens: [{ entry: "team-a", token: TEAM_TOKEN }],
    mintedTokens,
    pages: { readiness: nothing, status: nothing, metrics: nothing },
    endpoints: [objectEndpoint({ store, clock, log, revocations, publishTokens: mintedTokens, record })],
    log,
  });
  let keys = 0;
  const ask = async (path: string, options: ApiOptions = {}): Promise<ApiAnswer> => {
    const { body, token = OPERATOR_TOKEN, headers = {}, key = `key-${(keys += 1)}` } = options;
    const isPlain = typeof body === "string" || body instanceof Uint8Array;
    const sent = body === undefined ? undefined : isPlain ? body : JSON.stringify(body);
    const method = options.method ?? (sent === undefined ? "GET" : "POST");
    const answer = await fetch(`${admin.origin}/api/v1${path}`, {
      method,
      headers: {
        ...(token !== "" && { authorization: `Bearer ${token}` }),
        ...(method === "POST" && key !== "" && { "idempotency-key": key }),
        ...(sent !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(sent !== undefined && { body: sent as string }),
    });
    const text = await answer.text();
    return { status: answer.status, text, headers: answer.headers, json: () => JSON.parse(text) as ApiBody };
  };
  return {
    origin: admin.origin,
    store,
    breakable,
    clock,
    actions,
    ask,
    /** A publish token for minutes, of team-a. */
    async mint(): Promise<string> {
      const minted = await mintedTokens.mint({ owner: "team-a", by: hashSecret(TEAM_TOKEN), lifetimeSeconds: 600 });
      return minted?.token ?? "";
    },
    async close() {
      breakable.broken = false;
      await admin.close();
      await revocations.close();
      await store.close();
    },
  };
}
