/**
 * How large the slice of one namespace may become. All slices are published in one request, and settings of an Ingress
 * stand on each of its routes: without a bound one namespace could make a request that no gateway takes, for all.
 */
import { type DraftProblem, ingressError } from "./ingress-problem.ts";

/** Bytes of its JSON, as UTF-8. */
export const MAX_SLICE_BYTES: number = 8 * 1024 * 1024;

/** What an Ingress adds to the slice of its namespace. */
export interface Sized {
  readonly namespace: string;
  /** About. */
  readonly bytes: number;
}

/** What a value takes in a slice. */
export function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? "");
}

/** Adds up by namespace. */
export interface SliceSizes {
  /** @returns false when it does not fit any more; it is not counted then */
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
