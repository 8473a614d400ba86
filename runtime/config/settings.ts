/** Everything that may be written beside the routes. */
import type { z } from "zod";

import { bootShape } from "./boot-settings.ts";
import { document, fieldsOf } from "./kinds.ts";
import { liveShape } from "./live-settings.ts";

export const settingsSchema = document({ ...bootShape, ...liveShape });
const bootSchema = document(bootShape);
const liveSchema = document(liveShape);

/** Boot settings as written. */
export type BootDoc = z.infer<typeof bootSchema>;
/** Live settings as written. */
export type SettingsDoc = z.infer<typeof liveSchema>;

export const bootNames: ReadonlySet<string> = new Set(Object.keys(bootShape));

/** Every setting beside the routes, boot first. */
export const settingsFields = [...fieldsOf(bootShape, "boot"), ...fieldsOf(liveShape, "live")];
