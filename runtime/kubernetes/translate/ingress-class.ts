/** Selects our Ingresses by class. */
import type { Ingress, IngressClass } from "./objects.ts";

/** Default name of the IngressClass. */
export const DEFAULT_INGRESS_CLASS = "gateway";
/** `spec.controller` of our IngressClasses, whatever their name. */
export const CONTROLLER_NAME = "ingress.gateway.io/controller";

const DEFAULT_MARK = "ingressclass.kubernetes.io/is-default-class";
/** Older than `spec.ingressClassName`; the field wins. */
const LEGACY_CLASS = "kubernetes.io/ingress.class";

export interface ClassOptions {
  /** Ingresses of this class are ours. */
  readonly name: string;
  readonly classes: readonly IngressClass[];
}

/**
 * A class is ours by its name or by its controller. An Ingress without a class is ours if one of our classes is marked as the
 * cluster's default.
 */
export function createClassFilter({ name, classes }: ClassOptions): (ingress: Ingress) => boolean {
  const ours = new Set([name]);
  let isDefault = false;
  for (const { metadata, spec } of classes) {
    // A class with our name but another controller belongs to that controller.
    if (metadata.name === name && spec?.controller !== undefined && spec.controller !== CONTROLLER_NAME) {
      ours.delete(name);
    }
    if (spec?.controller === CONTROLLER_NAME) {
      ours.add(metadata.name);
      isDefault ||= metadata.annotations?.[DEFAULT_MARK] === "true";
    }
  }
  return (ingress) => {
    const className = classOf(ingress);
    return className === undefined ? isDefault : typeof className === "string" && ours.has(className);
  };
}

/** The class as written, possibly not a string. */
export function classOf({ metadata, spec }: Ingress): unknown {
  return spec?.ingressClassName ?? metadata.annotations?.[LEGACY_CLASS];
}
