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
    const message = "Cannot back up: the store is no SQLite file; of PostgreSQL pg_dump makes a copy";
    throw new GatewayError("store.backup", message);
  }
  await attempting("store.backup", `Cannot back up into "${file}"`, () => copySqlite(path, file));
  printLine(`Written: ${file}. It is of use only with the shared_secret of now.`);
  return 0;
}
