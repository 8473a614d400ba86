/** The page on which users register and verify devices. */
export const DEVICE_PATH = "/.gateway/webauthn";

/** Name of its form: a token for one form is not valid for another. */
export const DEVICE_FORM = "device";
