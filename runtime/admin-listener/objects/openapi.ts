/** The OpenAPI document of the admin API, from the kinds of objects. */
import { wordsOf, type Kind } from "../../administration/kind.ts";
import { VERSION } from "../../shared/version.ts";
import { API, BOUNDS } from "./bounds.ts";

type Json = Readonly<Record<string, unknown>>;

const TEXT = { type: "string" };
const refTo = (part: "schemas" | "parameters" | "responses", name: string): Json => ({
  $ref: `#/components/${part}/${name}`,
});
const content = (schema: Json): Json => ({ content: { "application/json": { schema } } });
const failures = (...statuses: readonly number[]): Json =>
  Object.fromEntries([401, 403, 503, ...statuses].map((status) => [status, refTo("responses", "Error")]));
const object = (properties: Json, required: readonly string[]): Json => ({
  type: "object",
  additionalProperties: false,
  properties,
  required,
});

/** @see OpenAPI Specification 3.1.1 */
export function openApi(kinds: readonly Kind[]): Json {
  return {
    openapi: "3.1.1",
    info: {
      title: "Gateform admin API",
      version: VERSION,
      description:
        "Stored objects of a gateway. Changes require an Idempotency-Key: the same key and body get the same response for 24 hours.",
    },
    servers: [{ url: API }],
    security: [{ token: [] }],
    paths: Object.fromEntries(kinds.flatMap(pathsOf)),
    components: {
      securitySchemes: { token: { type: "http", scheme: "bearer", description: "`admin_token`" } },
      parameters: {
        limit: {
          name: "limit",
          in: "query",
          schema: { type: "integer", minimum: 1, maximum: BOUNDS.limit, default: BOUNDS.defaultLimit },
        },
        cursor: { name: "cursor", in: "query", description: "`next` of the previous page", schema: TEXT },
        id: { name: "id", in: "path", required: true, schema: TEXT },
        key: {
          name: "Idempotency-Key",
          in: "header",
          required: true,
          schema: { type: "string", pattern: '^("?)[A-Za-z0-9._~:-]{1,128}\\1$' },
        },
      },
      responses: { Error: { description: "An error", ...content(refTo("schemas", "Error")) } },
      schemas: {
        Error: { type: "object", properties: { error: TEXT, message: TEXT, docs: TEXT }, required: ["error"] },
        ...Object.fromEntries(kinds.map((kind) => [kind.name, schemaOf(kind)])),
      },
    },
  };
}

function schemaOf({ doc, fields }: Kind): Json {
  const properties = fields.map(({ name, type, doc: description, values }) => [
    name,
    { description, ...TEXT, ...(type === "time" && { format: "date-time" }), ...(values && { enum: values }) },
  ]);
  return { description: doc, ...object({ id: TEXT, ...(Object.fromEntries(properties) as Json) }, ["id"]) };
}

function pathsOf(kind: Kind): readonly (readonly [string, Json])[] {
  const { name, plural, command, doc, filters, fields, creation, actions } = kind;
  const page = object({ items: { type: "array", items: refTo("schemas", name) }, next: TEXT }, ["items"]);
  const filter = (each: string): Json => ({
    name: each,
    in: "query",
    description: fields.find((field) => field.name === each)?.doc ?? "",
    schema: TEXT,
  });
  const reason = { type: "string", minLength: 1, maxLength: BOUNDS.reasonCharacters };
  const change = (title: string, effect: string, inputs: Json, required: readonly string[]) => ({
    summary: title,
    description: effect,
    parameters: [refTo("parameters", "key")],
    requestBody: { required: true, ...content(object({ ...inputs, reason }, [...required, "reason"])) },
  });
  const list: Json = {
    operationId: `list_${plural}`,
    summary: doc,
    description: `As \`gateway ${command}\` lists them.`,
    parameters: [refTo("parameters", "limit"), refTo("parameters", "cursor"), ...filters.map(filter)],
    responses: { 200: { description: "A page", ...content(page) }, ...failures(400) },
  };
  const show: Json = {
    operationId: `get_${name}`,
    parameters: [refTo("parameters", "id")],
    responses: {
      200: { description: `One ${wordsOf(kind)}`, ...content(refTo("schemas", name)) },
      ...failures(400, 404),
    },
  };
  const made = object({ items: { type: "array", items: refTo("schemas", name) } }, ["items"]);
  const post = creation && {
    operationId: `create_${name}`,
    ...change(
      creation.title,
      creation.effect,
      Object.fromEntries(
        creation.inputs.map(({ name: each, label, values }) => [
          each,
          { description: label, ...TEXT, maxLength: BOUNDS.valueCharacters, ...(values && { enum: values }) },
        ]),
      ),
      creation.inputs.flatMap((each) => (each.isRequired === true ? [each.name] : [])),
    ),
    responses: { 201: { description: "Created", ...content(made) }, ...failures(400, 409, 413, 415, 422) },
  };
  const done = object({ id: TEXT, done: TEXT }, ["id", "done"]);
  return [
    [`/${plural}`, { get: list, ...(post && { post }) }],
    [`/${plural}/{id}`, { get: show }],
    ...actions
      .filter(({ role }) => role === "operator")
      .map(({ path, title, effect }): readonly [string, Json] => [
        `/${plural}/{id}/${path}`,
        {
          parameters: [refTo("parameters", "id")],
          post: {
            operationId: `${path}_${name}`,
            ...change(title, effect, {}, []),
            responses: { 200: { description: "Done", ...content(done) }, ...failures(400, 404, 409, 413, 415, 422) },
          },
        },
      ]),
  ];
}
