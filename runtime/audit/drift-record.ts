/** The record of listed definitions that differ from the lock: one line per response with anything new. */
import { isoTime, jsonText } from "./record.ts";

export interface DriftInput {
  /** Milliseconds since the epoch. */
  readonly timeMs: number;
  readonly requestId: string;
  readonly bundleDigest: string;
  /** Key of the route. */
  readonly route: string;
  /** The user who requested the list. */
  readonly user?: { readonly id: string; readonly email: string } | undefined;
  readonly drifts: readonly {
    readonly item: "tool" | "prompt" | "template" | "skill" | "instructions";
    readonly name: string;
    readonly kind: "changed" | "unlocked";
    readonly digest: string | undefined;
  }[];
}

/** Limit per line; beyond it only their number is recorded. */
const MAX_TOOLS = 50;

/** @returns one line with its line end */
export function formatDriftRecord({ timeMs, requestId, bundleDigest, route, user, drifts }: DriftInput): string {
  const listed = drifts.slice(0, MAX_TOOLS).map(({ item, name, kind, digest }) => {
    const listed = digest === undefined ? "" : `,"digest":"${digest}"`;
    const what = item === "tool" ? "" : `"item":"${item}",`;
    return `{${what}"${item === "tool" ? item : "name"}":${jsonText(name)},"drift":"${kind}"${listed}}`;
  });
  const whose = user ? `,"user":${jsonText(user.id)},"email":${jsonText(user.email)}` : "";
  return (
    `{"level":"warn","time":"${isoTime(timeMs)}","service":"authorize","message":"tool lock drift"` +
    `,"request-id":${jsonText(requestId)},"bundle-digest":${jsonText(bundleDigest)},"route":${jsonText(route)}${whose}` +
    `,"tool-drift-count":${drifts.length},"tool-drift":[${listed.join(",")}]}\n`
  );
}
