/** Events on Ingresses, as `kubectl describe` shows them to users. */
import { sha256 } from "../../shared/canonical-json.ts";
import { errorText } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import type { Clock } from "../../shared/clock.ts";
import {
  collectionPath,
  isStatus,
  type KubeClient,
  KubeError,
  missingRight,
  NAMESPACE_ENDS,
  objectPath,
} from "./kube-client.ts";
import { type Ingress, keyOf, namespaceOf } from "../translate/objects.ts";
import { type DraftProblem, problemText } from "../translate/ingress-problem.ts";

export interface EventWriter {
  /** Reports the problems of an Ingress, once per text; and once that it is served again. */
  tell(ingress: Ingress, problems: readonly DraftProblem[], served: boolean): Promise<void>;
  /** Forgets deleted Ingresses. */
  keepOnly(uids: ReadonlySet<string>): void;
}

export interface EventOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
}

const COMPONENT = "gateway-ingress-controller";
/** The server rejects longer ones. */
const MAX_MESSAGE_LENGTH = 1024;
/** More events help no user; the omitted ones appear once the first are repaired. */
const MAX_EVENTS = 10;

interface Note {
  readonly type: "Normal" | "Warning";
  readonly reason: "Rejected" | "Questionable" | "Served";
  readonly message: string;
}

export function createEventWriter({ client, clock, log }: EventOptions): EventWriter {
  /** By UID: the last written state. */
  const written = new Map<string, { readonly text: string; readonly served: boolean }>();
  /** By UID: the last logged text, since writing Events may be repeated. */
  const logged = new Map<string, string>();

  return {
    async tell(ingress, problems, served) {
      const uid = ingress.metadata.uid ?? "";
      const notes = notesOf(problems);
      const before = written.get(uid);
      if (served && before?.served === false) {
        notes.push({ type: "Normal", reason: "Served", message: "the gateway serves it" });
      }
      const text = JSON.stringify(notes);
      if (before?.text === text && before.served === served) return;
      if (logged.get(uid) !== text) tellLog(ingress, notes);
      logged.set(uid, text);
      try {
        for (const note of notes) await write(ingress, note);
        written.set(uid, { text, served });
      } catch (error) {
        // Events are deleted with their namespace.
        if (error instanceof KubeError && error.reason === NAMESPACE_ENDS) return;
        // The next translation repeats it.
        log.warn({ ingress: keyOf(ingress), reason: errorText(error), ...missingRight(error) }, "cannot write event");
      }
    },
    keepOnly(uids) {
      for (const known of [written, logged]) for (const uid of known.keys()) if (!uids.has(uid)) known.delete(uid);
    },
  };

  function tellLog(ingress: Ingress, notes: readonly Note[]): void {
    for (const { type, reason, message } of notes) {
      const about = { ingress: keyOf(ingress), reason, problem: message };
      if (type === "Warning") log.warn(about, "ingress has a problem");
      else log.info(about, "ingress is served again");
    }
  }

  async function write(ingress: Ingress, { type, reason, message }: Note): Promise<void> {
    const namespace = namespaceOf(ingress);
    const { name, uid, resourceVersion } = ingress.metadata;
    const now = new Date(clock.now()).toISOString().replace(/\.\d+Z$/, "Z");
    // One Event per text, also after a restart: a repetition increases its count.
    const event = `${name.slice(0, 230)}.${sha256(JSON.stringify([uid, reason, message])).slice(0, 16)}`;
    const body = {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: event, namespace },
      involvedObject: { apiVersion: "networking.k8s.io/v1", kind: "Ingress", name, namespace, uid, resourceVersion },
      type,
      reason,
      message,
      source: { component: COMPONENT },
      reportingComponent: COMPONENT,
      reportingInstance: COMPONENT,
      firstTimestamp: now,
      lastTimestamp: now,
      count: 1,
    };
    try {
      await client.request({ method: "POST", path: collectionPath("events", namespace), body });
    } catch (error) {
      if (!isStatus(error, 409)) throw error;
      const path = objectPath("events", namespace, event);
      const { count = 1 } = await client.request<{ count?: number }>({ method: "GET", path });
      await client.request({ method: "PATCH", path, body: { count: count + 1, lastTimestamp: now } });
    }
  }
}

function notesOf(problems: readonly DraftProblem[]): Note[] {
  const notes = problems.map((problem): Note => {
    const text = problemText(problem);
    const message = text.length > MAX_MESSAGE_LENGTH ? `${text.slice(0, MAX_MESSAGE_LENGTH - 1)}…` : text;
    return { type: "Warning", reason: problem.severity === "error" ? "Rejected" : "Questionable", message };
  });
  return notes.slice(0, MAX_EVENTS);
}
