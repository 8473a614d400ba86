/** Everything that may be written beside the routes. */
import { bootShape } from "../features/process/settings.ts";
import { type DocOf, document, fieldsOf } from "../settings/types/kinds.ts";
import { liveShape } from "../features/sign-in/settings.ts";

export const settingsSchema = document({ ...bootShape, ...liveShape });
const bootSchema = document(bootShape);
const liveSchema = document(liveShape);

/** Boot settings as written. */
export type BootDoc = DocOf<typeof bootSchema>;
/** Live settings as written. */
export type SettingsDoc = DocOf<typeof liveSchema>;

export const bootNames: ReadonlySet<string> = new Set(Object.keys(bootShape));

/** Every setting beside the routes, boot first. */
export const settingsFields = [...fieldsOf(bootShape, "boot"), ...fieldsOf(liveShape, "live")];
