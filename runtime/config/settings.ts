/** Everything that may be written beside the routes. */
import { bootShape } from "../features/process/settings.ts";
import { document, fieldsOf } from "../settings/types/kinds.ts";
import { liveShape } from "../features/sign-in/settings.ts";

export const settingsSchema = document({ ...bootShape, ...liveShape });

/** Every setting beside the routes, boot first. */
export const settingsFields = [...fieldsOf(bootShape, "boot"), ...fieldsOf(liveShape, "live")];
