/** A guardrail's verdict in records. */
import { plainJsonText } from "./record-text.ts";

export interface GuardrailVerdict {
  readonly verdict: "pass" | "deny" | "mutate" | "error";
  /** One short line, from the guardrail; for an error the gateway's own words. */
  readonly reason: string;
  /** Recorded without effect. */
  readonly isShadow: boolean;
}

/** The same for a call, whose arguments may have changed. */
export interface GuardrailNote extends GuardrailVerdict {
  /** Keyed digests of the arguments before and after a change. */
  readonly digests?: readonly [before: string, after: string] | undefined;
}

/** @returns `,"guardrail":{…}` */
export function guardrailText({ verdict, reason, isShadow, digests }: GuardrailNote): string {
  const why = reason === "" ? "" : `,"reason":${plainJsonText(reason)}`;
  const changed = digests ? `,"digest-before":"${digests[0]}","digest-after":"${digests[1]}"` : "";
  return `,"guardrail":{"verdict":"${verdict}"${why}${changed}${isShadow ? ',"shadow":true' : ""}}`;
}
