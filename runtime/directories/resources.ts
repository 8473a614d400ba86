/** Users or groups of a directory: created, changed and removed, with unique names. */
import { randomBytes } from "node:crypto";

import type { Clock } from "../shared/clock.ts";
import type { Store, StoredRecord } from "../store/store.ts";
import type { AttributeObject, ScimShape } from "./scim/attributes.ts";
import { ScimRefusal } from "./scim/refusal.ts";
import { createNames } from "./names.ts";
import { type NameOf, type ResourceKind, resourcePrefix, type ResourceRecord } from "./records.ts";

export interface Resource extends ResourceRecord {
  readonly id: string;
}

export interface ResourcesOptions {
  readonly kind: ResourceKind;
  readonly shape: ScimShape;
  readonly tagsOf?: (directory: string, attributes: AttributeObject) => readonly string[];
}

export interface Resources {
  get(directory: string, id: string): Promise<Resource | undefined>;
  /** Finds a resource by a unique attribute. */
  find(directory: string, attribute: string, text: string): Promise<Resource | undefined>;
  /** @throws ScimRefusal */
  create(directory: string, attributes: AttributeObject): Promise<Resource>;
  /**
   * @param change may be called several times
   * @param before called first, with the current and the next attributes
   * @throws ScimRefusal 404 if the resource does not exist
   */
  update(
    directory: string,
    id: string,
    change: (attributes: AttributeObject) => AttributeObject,
    before?: (earlier: AttributeObject, next: AttributeObject) => Promise<void>,
  ): Promise<{ readonly earlier: Resource; readonly resource: Resource }>;
  /**
   * @param mayGo checks the current attributes
   * @returns the removed resource @throws ScimRefusal 503 if `mayGo` returns false
   */
  remove(
    directory: string,
    id: string,
    mayGo?: (attributes: AttributeObject) => boolean,
  ): Promise<Resource | undefined>;
}

const MAX_CONFLICTS = 16;

export function createResources(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  { kind, shape, tagsOf }: ResourcesOptions,
): Resources {
  const unique = shape.attributes.filter(({ isUnique }) => isUnique === true);
  const keyOf = (directory: string, id: string): string => resourcePrefix(kind, directory) + id;
  const read = async (directory: string, id: string): Promise<StoredRecord<ResourceRecord> | undefined> =>
    isResourceId(id) ? store.get<ResourceRecord>(keyOf(directory, id)) : undefined;

  const nameOf = (directory: string, attribute: string, text: string): NameOf => {
    const isExact = unique.find(({ name }) => name === attribute)?.isCaseExact === true;
    return { directory, kind, attribute, text: isExact ? text : text.toLowerCase() };
  };
  const namesOf = (directory: string, attributes: AttributeObject): readonly NameOf[] =>
    unique.flatMap(({ name }) => {
      const text = attributes[name];
      return typeof text === "string" ? [nameOf(directory, name, text)] : [];
    });
  const names = createNames({ store, clock }, async (name, id) => {
    const stored = await read(name.directory, id);
    return (
      stored !== undefined && namesOf(name.directory, stored.value.attributes).some((each) => isSameName(each, name))
    );
  });

  const put = (directory: string, id: string, value: ResourceRecord, ifVersion: number) =>
    store.put(keyOf(directory, id), value, { ifVersion, tags: tagsOf?.(directory, value.attributes) ?? [] });

  /** Reserves all names or none. @returns the names that were free before */
  const reserve = async (requested: readonly NameOf[], id: string, isFirst = false): Promise<readonly NameOf[]> => {
    const reserved: NameOf[] = [];
    try {
      for (const name of requested) if (await names.reserve(name, id, isFirst)) reserved.push(name);
      return reserved;
    } catch (error) {
      await releaseAll(reserved, id);
      throw error;
    }
  };
  const releaseAll = async (reserved: readonly NameOf[], id: string): Promise<void> => {
    for (const name of reserved) await names.release(name, id);
  };
  const confirm = async (reserved: readonly NameOf[], id: string): Promise<void> => {
    for (const name of reserved) await names.confirm(name, id);
  };

  return {
    async get(directory, id) {
      const stored = await read(directory, id);
      return stored && { ...stored.value, id };
    },
    async find(directory, attribute, text) {
      const name = nameOf(directory, attribute, text);
      const id = await names.find(name);
      const stored = id === undefined ? undefined : await read(directory, id);
      if (id === undefined || !stored) return undefined;
      // The resource may have another name by now.
      return namesOf(directory, stored.value.attributes).some((each) => isSameName(each, name))
        ? { ...stored.value, id }
        : undefined;
    },
    async create(directory, attributes) {
      const nowMs = clock.now();
      const id = newId(nowMs);
      const reserved = await reserve(namesOf(directory, attributes), id, true);
      const value: ResourceRecord = { attributes, createdAt: nowMs, changedAt: nowMs };
      await put(directory, id, value, 0);
      try {
        if (names.isDoubtful(nowMs)) await confirm(reserved, id);
      } catch (error) {
        await store.delete(keyOf(directory, id));
        await releaseAll(reserved, id);
        throw error;
      }
      return { ...value, id };
    },
    async update(directory, id, change, before) {
      for (let attempt = 0; attempt < MAX_CONFLICTS; attempt += 1) {
        const stored = await read(directory, id);
        if (!stored) throw notFound(id);
        const earlier = stored.value;
        const attributes = change(earlier.attributes);
        const reserved = await reserve(namesOf(directory, attributes), id);
        await before?.(earlier.attributes, attributes);
        const value = { ...earlier, attributes, changedAt: Math.max(clock.now(), earlier.changedAt) };
        const written = await put(directory, id, value, stored.version);
        if (!written.ok) {
          await releaseAll(reserved, id);
          continue;
        }
        const [old, now] = [namesOf(directory, earlier.attributes), namesOf(directory, attributes)];
        try {
          await confirm(now, id);
          for (const name of without(now, old)) await names.hold(name, id);
        } catch (error) {
          await put(directory, id, earlier, written.version);
          await releaseAll(reserved, id);
          throw error;
        }
        await releaseAll(without(old, now), id);
        return { earlier: { ...earlier, id }, resource: { ...value, id } };
      }
      throw new ScimRefusal(503, "The resource keeps changing");
    },
    async remove(directory, id, mayGo) {
      for (let attempt = 0; attempt < MAX_CONFLICTS; attempt += 1) {
        const stored = await read(directory, id);
        if (!stored) return undefined;
        if (mayGo?.(stored.value.attributes) === false) break;
        if (!(await store.delete(keyOf(directory, id), { ifVersion: stored.version }))) continue;
        await releaseAll(namesOf(directory, stored.value.attributes), id);
        return { ...stored.value, id };
      }
      throw new ScimRefusal(503, "The resource keeps changing");
    },
  };
}

function isSameName(one: NameOf, other: NameOf): boolean {
  return one.attribute === other.attribute && one.text === other.text;
}

function without(all: readonly NameOf[], others: readonly NameOf[]): readonly NameOf[] {
  return all.filter((name) => !others.some((each) => isSameName(each, name)));
}

export function notFound(id: string): ScimRefusal {
  return new ScimRefusal(404, `There is no resource ${id}`);
}

/** Returns true if an id has our format. No resource has any other id. */
export function isResourceId(id: string): boolean {
  return /^[0-9a-f]{32}$/.test(id);
}

/** Grows with time, so that new resources are last in lists. */
function newId(nowMs: number): string {
  return nowMs.toString(16).padStart(12, "0") + randomBytes(10).toString("hex");
}
