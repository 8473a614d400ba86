/** When a certificate ends, reported in time and always in the same words until that changes. */
import type { X509Certificate } from "node:crypto";

import { certificateTime } from "../../../features/listener/certificate-end.ts";

/** @returns undefined while all is well */
export function expiryWarning(leaf: X509Certificate, nowMs: number): string | undefined {
  const time = certificateTime(leaf, nowMs);
  const at = (text: string): string => new Date(text).toISOString();
  switch (time) {
    case "good":
      return undefined;
    case "ended":
      return `ended ${at(leaf.validTo)}`;
    case "not-yet":
      return `begins ${at(leaf.validFrom)}, which is not yet`;
    case "ending":
      return `ends ${at(leaf.validTo)}, and was not renewed yet`;
    default:
      return time satisfies never;
  }
}
