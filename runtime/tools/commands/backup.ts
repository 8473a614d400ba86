/** `gateway store backup`: for PostgreSQL, use its own tools. */
import { readBoot } from "../../bundle/boot.ts";
import { attempting, GatewayError } from "../../shared/errors.ts";
import { copySqlite } from "../../store/sqlite/copy-sqlite.ts";
import { sqlitePath } from "../../store/sqlite/sqlite-path.ts";
import { printLine } from "./output.ts";

/** @param file must not exist @returns exit code @throws GatewayError `config.invalid`, `store.backup` */
export async function backUpStore(file: string, { config }: { readonly config: string }): Promise<number> {
  const { settings, vault } = await readBoot(config);
  await vault?.close();
  const path = sqlitePath(settings.storageUrl);
  if (path === undefined) {
    const message = "Cannot back up: the store is not an SQLite file; use pg_dump for PostgreSQL";
    throw new GatewayError("store.backup", message);
  }
  await attempting("store.backup", `Cannot back up into "${file}"`, () => copySqlite(path, file));
  printLine(`Written: ${file}. It is usable only with the current shared_secret.`);
  return 0;
}
