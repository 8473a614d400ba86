/** Names of the forms for their tokens: that of one is worth nothing in another. */
export const DEVICE_FORM = "device";
export const REMOVE_FORM = "device-remove";
