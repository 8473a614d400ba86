/**
 * `/api/v1/`: stored objects for operators' scripts (`administration/`): lists, single objects, and their actions.
 *
 * Only with `admin_token`: tokens of owners and of platforms publish, and open nothing else. Loaded with the first
 * request.
 */
import type { AdminEndpoint } from "../answer.ts";
import { API } from "./bounds.ts";
import type { ObjectsDeps } from "./answer-objects.ts";

export function objectEndpoint(deps: ObjectsDeps): AdminEndpoint {
  return {
    handles: (path) => path === API || path.startsWith(`${API}/`),
    answer: async (request) => (await import("./answer-objects.ts")).answerObjects(deps, request),
  };
}
