/** Compiles settings of the authorization log. */
import { createReplayWriter } from "../../audit/replay/write-facts.ts";
import { GatewayError } from "../../shared/errors.ts";
import { type SecretSource, secretValues } from "../../settings/secret-forms.ts";
import { type ShapeDoc, withDefaults } from "../../settings/types/registry.ts";
import type { ListenerDoc } from "../listener/settings.ts";
import { decodeSharedSecret } from "../process/settings.ts";
import type { RecordSettings } from "./compiled.ts";
import { recordsShape } from "./settings.ts";
import { compileRecordStore, type recordStoreShape } from "./record-store.ts";
import { compileRecordSinks } from "./compile-sinks.ts";
import { recordSinksShape } from "./sinks.ts";

type RecordsDoc = ShapeDoc<typeof recordsShape & typeof recordSinksShape & typeof recordStoreShape> &
  Pick<ListenerDoc, "downstream_mtls">;

/** @throws GatewayError `config.secret` */
export function compileRecords(doc: RecordsDoc, secrets: SecretSource): RecordSettings {
  const { authorize_log: authorizeLog, audit } = withDefaults(recordsShape, doc);
  const {
    record_sinks: sinks,
    record_spool: recordSpool,
    audit_required: auditRequired,
  } = withDefaults(recordSinksShape, doc);
  const key = recordKey(doc, secrets);
  const recordSinks = compileRecordSinks(sinks ?? {}, secrets);
  return {
    authorizeLog,
    audit,
    recordSinks,
    // With only a store, pending records stay in memory unless a directory is configured: the working directory may be
    // read-only.
    recordSpool: recordSinks.length === 0 && doc.record_spool === undefined ? undefined : recordSpool,
    recordStore: compileRecordStore(doc, secrets),
    auditRequired,
    digestKey: key,
    replay: createReplayWriter({ key, asksForCertificates: doc.downstream_mtls !== undefined }),
  };
}

/** @throws GatewayError `config.secret` */
export function recordKey(doc: RecordsDoc, secrets: SecretSource): Uint8Array | undefined {
  const [written] = secretValues(doc, "authorize_log_key", secrets);
  return written === undefined ? undefined : decodeRecordKey(written);
}

/** @throws GatewayError `config.secret` */
export function decodeRecordKey(written: string): Uint8Array {
  const key = decodeSharedSecret(written);
  if (key) return key;
  throw new GatewayError("config.secret", 'Cannot use "authorize_log_key": it must be base64 of at least 32 bytes');
}
