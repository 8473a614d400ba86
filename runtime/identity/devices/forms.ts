/** Form names for CSRF tokens: a token of one form is invalid in another. */
export const DEVICE_FORM = "device";
export const REMOVE_FORM = "device-remove";
