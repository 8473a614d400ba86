/**
 * Limits the slice of one namespace. All slices are published in one request, and an Ingress's settings are repeated on each
 * of its routes: without a limit one namespace could make the request too large for any gateway, for all.
 */
import { type DraftProblem, ingressError } from "./ingress-problem.ts";

/** Bytes of its JSON, as UTF-8. */
export const MAX_SLICE_BYTES: number = 8 * 1024 * 1024;

/** Size that an Ingress adds to the slice of its namespace. */
export interface Sized {
  readonly namespace: string;
  /** Approximate. */
  readonly bytes: number;
}

/** Size of a value in a slice. */
export function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? "");
}

export interface SliceSizes {
  /** @returns false, and does not count it, when it exceeds the limit */
  take(sized: Sized): boolean;
}

export function createSliceSizes(): SliceSizes {
  const taken = new Map<string, number>();
  return {
    take({ namespace, bytes }) {
      const sum = (taken.get(namespace) ?? 0) + bytes;
      if (sum > MAX_SLICE_BYTES) return false;
      taken.set(namespace, sum);
      return true;
    },
  };
}

export function tooLarge(namespace: string): DraftProblem {
  const most = `${MAX_SLICE_BYTES / 1024 / 1024} MiB`;
  return ingressError(
    {},
    `makes the configuration of namespace ${namespace} larger than ${most}, must have fewer paths or shorter annotations`,
  );
}
