/** Settings that contain settings. */
import { names } from "./map.ts";
import { listOf } from "./list.ts";
import * as z from "zod/mini";
import { type ValueCheck, wrongType } from "./checks.ts";
import { type About, type SchemaShape, type Made, type HasMembers, type Writeable, made } from "./registry.ts";

/** A block of settings. Unknown members are errors. */
export function block<S extends SchemaShape, const A extends About>(
  shape: S,
  about: A,
): Made<z.ZodMiniObject<Writeable<S>, z.core.$strict>, A> & HasMembers<S> {
  return made(strict(shape), "block", about, { members: shape }) as Made<
    z.ZodMiniObject<Writeable<S>, z.core.$strict>,
    A
  > &
    HasMembers<S>;
}

export function blockList<S extends SchemaShape, const A extends About>(
  shape: S,
  about: A,
): Made<z.ZodMiniArray<z.ZodMiniObject<Writeable<S>, z.core.$strict>>, A> {
  return made(listOf(strict(shape), "a list of blocks"), "block-list", about, { members: shape });
}

/** Named blocks: `owners: { team-a: { … } }`. */
export function labelled<S extends SchemaShape, const A extends About & { readonly checkName?: ValueCheck }>(
  shape: S,
  about: A,
): Made<z.ZodMiniRecord<z.ZodMiniString, z.ZodMiniObject<Writeable<S>, z.core.$strict>>, A> {
  const schema = z.record(z.string(), strict(shape), {
    error: (issue) => wrongType(issue.input, "a block of named blocks"),
  });
  return made(schema.check(names(about.checkName)), "labelled", about, { members: shape });
}

/** Schema of a whole document part (all settings, one route): a block that is not itself a setting. */
export function document<S extends SchemaShape>(shape: S): z.ZodMiniObject<Writeable<S>, z.core.$strict> {
  return strict(shape);
}

function strict<S extends SchemaShape>(shape: S): z.ZodMiniObject<Writeable<S>, z.core.$strict> {
  const error = (issue: { readonly code?: string; readonly input?: unknown }): string =>
    issue.code === "unrecognized_keys" ? "has unknown settings" : wrongType(issue.input, "a block of settings");
  return z.strictObject(shape, { error });
}
