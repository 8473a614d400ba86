/** Which Ingresses are ours. */
import type { Ingress, IngressClass } from "./objects.ts";

/** Name of the IngressClass, unless told otherwise. */
export const DEFAULT_INGRESS_CLASS = "gateway";
/** `spec.controller` of IngressClasses that are ours, whatever their name. */
export const CONTROLLER_NAME = "ingress.gateway.io/controller";

const DEFAULT_MARK = "ingressclass.kubernetes.io/is-default-class";
/** From before `spec.ingressClassName`; the field wins. */
const LEGACY_CLASS = "kubernetes.io/ingress.class";

export interface ClassOptions {
  /** Ingresses of this class are ours. */
  readonly name: string;
  readonly classes: readonly IngressClass[];
}

/**
 * A class is ours by its name or by its controller; an Ingress without a class is ours when one of our classes is
 * marked as the cluster's default.
 */
export function createClassFilter({ name, classes }: ClassOptions): (ingress: Ingress) => boolean {
  const ours = new Set([name]);
  let isDefault = false;
  for (const { metadata, spec } of classes) {
    // A class of this name that another controller claims is that controller's.
    if (metadata.name === name && spec?.controller !== undefined && spec.controller !== CONTROLLER_NAME) {
      ours.delete(name);
    }
    if (spec?.controller === CONTROLLER_NAME) {
      ours.add(metadata.name);
      isDefault ||= metadata.annotations?.[DEFAULT_MARK] === "true";
    }
  }
  return (ingress) => {
    const wanted = classOf(ingress);
    return wanted === undefined ? isDefault : typeof wanted === "string" && ours.has(wanted);
  };
}

/** As somebody wrote it, text or not. */
export function classOf({ metadata, spec }: Ingress): unknown {
  return spec?.ingressClassName ?? metadata.annotations?.[LEGACY_CLASS];
}
