/** Devices in a Chromium driven by a test: the browser's own virtual authenticators, which speak WebAuthn as real ones do. */
import type { CDPSession, Page } from "playwright-core";

export interface VirtualDevice {
  /** Its keys as the browser has them: a copy of the device can be made of them. */
  credentials(): Promise<readonly VirtualCredential[]>;
  addCredential(credential: VirtualCredential): Promise<void>;
  /** From now on it does not recognize its user. */
  refusePerson(): Promise<void>;
}

export interface VirtualCredential {
  readonly credentialId: string;
  readonly isResidentCredential: boolean;
  readonly rpId?: string;
  readonly privateKey: string;
  readonly userHandle?: string;
  readonly signCount: number;
}

export interface VirtualDeviceOptions {
  /** "internal" is part of the computer, "usb" a security key. */
  readonly transport?: "internal" | "usb";
  readonly verifiesUser?: boolean;
  /** Its keys may be copied, as passkeys of accounts are. */
  readonly isSynced?: boolean;
}

const sessions = new WeakMap<Page, Promise<CDPSession>>();

/** From now on ceremonies of this page find this device, in addition to those plugged in before. */
export async function plugIn(page: Page, options: VirtualDeviceOptions = {}): Promise<VirtualDevice> {
  const { transport = "internal", verifiesUser = true, isSynced = false } = options;
  let starting = sessions.get(page);
  if (!starting) {
    starting = page.context().newCDPSession(page);
    sessions.set(page, starting);
    await (await starting).send("WebAuthn.enable");
  }
  const cdp = await starting;
  const { authenticatorId } = await cdp.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport,
      hasResidentKey: false,
      hasUserVerification: verifiesUser,
      isUserVerified: verifiesUser,
      automaticPresenceSimulation: true,
      defaultBackupEligibility: isSynced,
      defaultBackupState: isSynced,
    },
  });
  return {
    credentials: async () => (await cdp.send("WebAuthn.getCredentials", { authenticatorId })).credentials,
    addCredential: async (credential) => {
      await cdp.send("WebAuthn.addCredential", { authenticatorId, credential });
    },
    refusePerson: async () => {
      await cdp.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified: false });
    },
  };
}
