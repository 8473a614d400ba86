/**
 * The messages of Terraform's plugin protocol 6, as one compact table of interface facts.
 *
 * Only method names, field numbers and field types are on the wire; message and field names here are our own. A line has the
 * form `name type=number`; `*` marks a repeated field, `{` a map with text keys, `?` a field that is sent even when it is
 * zero or empty. Messages are encoded by protobufjs reflection, so nothing is generated.
 */
import protobuf from "protobufjs/light.js";

const TABLE: Readonly<Record<string, string>> = {
  Empty: "",
  DynamicValue: "msgpack bytes=1, json bytes=2",
  RawState: "json bytes=1",
  PathStep: "?attribute string=1, ?keyText string=2, ?keyNumber int64=3",
  Path: "*steps PathStep=1",
  Diagnostic: "severity int32=1, summary string=2, detail string=3, path Path=4",

  Attribute:
    "name string=1, type bytes=2, description string=3, required bool=4, optional bool=5, computed bool=6, sensitive bool=7, " +
    "descriptionKind int32=8, deprecated bool=9, writeOnly bool=11",
  NestedBlock: "name string=1, block Block=2, nesting int32=3, minItems int64=4, maxItems int64=5",
  Block:
    "version int64=1, *attributes Attribute=2, *blocks NestedBlock=3, description string=4, descriptionKind int32=5, deprecated bool=6",
  Schema: "version int64=1, block Block=2",
  Parameter:
    "name string=1, type bytes=2, allowNull bool=3, allowUnknown bool=4, description string=5, descriptionKind int32=6",
  Return: "type bytes=1",
  Function:
    "*parameters Parameter=1, variadic Parameter=2, return Return=3, summary string=4, description string=5, descriptionKind int32=6",
  ServerCapabilities: "planDestroy bool=1, schemaOptional bool=2, moveState bool=3",
  ClientCapabilities: "deferral bool=1, writeOnly bool=2, plannedPrivate bool=3, computedBlocks bool=4",
  Named: "name string=1",
  Timestamp: "seconds int64=1, nanos int32=2",
  IdentityAttribute: "name string=1, type bytes=2, required bool=3, optional bool=4, description string=5",
  IdentitySchema: "version int64=1, *attributes IdentityAttribute=2",
  Identity: "data DynamicValue=1",

  MetadataResponse:
    "capabilities ServerCapabilities=1, *diagnostics Diagnostic=2, *dataSources Named=3, *resources Named=4, *functions Named=5, " +
    "*ephemerals Named=6, *lists Named=7, *actions Named=9",
  SchemaResponse:
    "provider Schema=1, {resources Schema=2, {dataSources Schema=3, *diagnostics Diagnostic=4, providerMeta Schema=5, " +
    "capabilities ServerCapabilities=6, {functions Function=7, {ephemerals Schema=8, {lists Schema=9, {actions ActionSchema=11",
  ActionSchema: "schema Schema=1",
  IdentitySchemasResponse: "{schemas IdentitySchema=1, *diagnostics Diagnostic=2",
  FunctionsResponse: "{functions Function=1, *diagnostics Diagnostic=2",
  StopResponse: "error string=1",

  ValidateProviderRequest: "config DynamicValue=1",
  ValidateProviderResponse: "*diagnostics Diagnostic=2",
  ConfigureRequest: "terraformVersion string=1, config DynamicValue=2, capabilities ClientCapabilities=3",
  ConfigureResponse: "*diagnostics Diagnostic=1",
  ValidateRequest: "typeName string=1, config DynamicValue=2, capabilities ClientCapabilities=3",
  ValidateResponse: "*diagnostics Diagnostic=1",
  UpgradeRequest: "typeName string=1, version int64=2, state RawState=3",
  UpgradeResponse: "state DynamicValue=1, *diagnostics Diagnostic=2",
  UpgradeIdentityRequest: "typeName string=1, version int64=2, identity RawState=3",
  UpgradeIdentityResponse: "identity Identity=1, *diagnostics Diagnostic=2",
  ReadRequest:
    "typeName string=1, state DynamicValue=2, private bytes=3, providerMeta DynamicValue=4, capabilities ClientCapabilities=5, " +
    "identity Identity=6",
  ReadResponse: "state DynamicValue=1, *diagnostics Diagnostic=2, private bytes=3, identity Identity=5",
  PlanRequest:
    "typeName string=1, prior DynamicValue=2, proposed DynamicValue=3, config DynamicValue=4, priorPrivate bytes=5, " +
    "providerMeta DynamicValue=6, capabilities ClientCapabilities=7, identity Identity=8, plannedPrivate bytes=9",
  PlanResponse:
    "planned DynamicValue=1, *requiresReplace Path=2, private bytes=3, *diagnostics Diagnostic=4, identity Identity=7",
  ApplyRequest:
    "typeName string=1, prior DynamicValue=2, planned DynamicValue=3, config DynamicValue=4, private bytes=5, " +
    "providerMeta DynamicValue=6, identity Identity=7",
  ApplyResponse: "state DynamicValue=1, private bytes=2, *diagnostics Diagnostic=3, identity Identity=5",
  ImportRequest: "typeName string=1, id string=2, capabilities ClientCapabilities=3, identity Identity=4",
  Imported: "typeName string=1, state DynamicValue=2, private bytes=3, identity Identity=4",
  ImportResponse: "*imported Imported=1, *diagnostics Diagnostic=2",
  MoveRequest:
    "sourceProvider string=1, sourceType string=2, sourceVersion int64=3, sourceState RawState=4, typeName string=5, " +
    "private bytes=6, sourceIdentity RawState=7, sourceIdentityVersion int64=8",
  MoveResponse: "state DynamicValue=1, *diagnostics Diagnostic=2, private bytes=3, identity Identity=4",
  ReadDataRequest:
    "typeName string=1, config DynamicValue=2, providerMeta DynamicValue=3, capabilities ClientCapabilities=4",
  ReadDataResponse: "state DynamicValue=1, *diagnostics Diagnostic=2",
  OpenRequest: "typeName string=1, config DynamicValue=2, capabilities ClientCapabilities=3",
  OpenResponse: "*diagnostics Diagnostic=1, renewAt Timestamp=2, result DynamicValue=3, ?private bytes=4",
  RenewRequest: "typeName string=1, ?private bytes=2",
  RenewResponse: "*diagnostics Diagnostic=1, renewAt Timestamp=2, ?private bytes=3",
  CloseRequest: "typeName string=1, ?private bytes=2",
  CloseResponse: "*diagnostics Diagnostic=1",
  ValidateListRequest: "typeName string=1, config DynamicValue=2, withState DynamicValue=3, limit DynamicValue=4",
  ListRequest: "typeName string=1, config DynamicValue=2, withState bool=3, limit int64=4",
  ListEvent: "identity Identity=1, name string=2, state DynamicValue=3, *diagnostics Diagnostic=4",
  Progress: "message string=1",
  ActionEvent: "progress Progress=1, completed ValidateResponse=2",
  CallRequest: "name string=1, *arguments DynamicValue=2",
  CallError: "text string=1, ?argument int64=2",
  CallResponse: "result DynamicValue=1, error CallError=2",

  HealthRequest: "service string=1",
  HealthResponse: "status int32=1",
  StdioData: "channel int32=1, data bytes=2",
  BrokerData: "serviceId uint32=1, network string=2, address string=3",
};

/** A decoded message: plain fields, absent ones undefined unless repeated. */
export type Message = Readonly<Record<string, unknown>>;

// Without Long, 64-bit fields decode to numbers; none of ours leaves the safe range.
protobuf.util.Long = undefined as never;
protobuf.configure();

const root = protobuf.Root.fromJSON({
  nested: Object.fromEntries(Object.entries(TABLE).map(([name, line]) => [name, parseType(line)])),
});
const types = new Map(Object.keys(TABLE).map((name) => [name, root.lookupType(name)]));

/** @throws when the table has no such message: a bug, not an input error */
function typeOf(name: string): protobuf.Type {
  const type = types.get(name);
  if (!type) throw new Error(`No message "${name}" in the wire table`);
  return type;
}

export function encodeMessage(name: string, message: Message): Buffer {
  return Buffer.from(typeOf(name).encode(message).finish());
}

export function decodeMessage(name: string, bytes: Uint8Array): Message {
  const type = typeOf(name);
  return type.toObject(type.decode(bytes), { bytes: Buffer, arrays: true, objects: true });
}

function parseType(line: string): protobuf.IType {
  const fields: Record<string, protobuf.IField> = {};
  const oneofs: Record<string, protobuf.IOneOf> = {};
  for (const item of line.split(",")) {
    const parts = /^\s*([*{?]?)(\w+) (\w+)=(\d+)\s*$/.exec(item);
    if (!parts) continue;
    const [, mark, name = "", type = "", id] = parts;
    const field = { type, id: Number(id) };
    if (mark === "*") fields[name] = { ...field, rule: "repeated" };
    else if (mark === "{") fields[name] = { ...field, keyType: "string" } as protobuf.IMapField;
    else fields[name] = field;
    // A choice of one: the format's way to encode "present", whatever the value.
    if (mark === "?") oneofs[`_${name}`] = { oneof: [name] };
  }
  return { fields, oneofs };
}
