/** Loaded before the program, in each of its threads: it knows the first step of the store's tables alone. */
import { type Migration, migrations } from "../../runtime/store/migrations.ts";

(migrations as Migration[]).splice(1);
