import type { IdentityKey } from './person-store.js';

/** What a sign-in at the provider is checked against when the browser comes back. */
export interface ProviderChecks {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

/** Whom the provider has signed in. */
export interface ProvenIdentity extends IdentityKey {
  /** When the person has proved there who they are; absent where the provider does not say. */
  readonly authenticatedAt?: number;
}

/**
 * An outside OpenID provider. Its calls go over the network. Both methods throw SERVICE_UNAVAILABLE when it does not
 * answer as it should.
 */
export interface OutsideProvider {
  /** What people call it. */
  readonly name: string;

  /** Where the browser goes, and what it must bring back. */
  begin(): Promise<{ readonly location: string; readonly checks: ProviderChecks }>;

  /**
   * Who has signed in, once the browser is back at `currentUrl`. Null where the person has not: they gave up, or the
   * answer is not one to these checks.
   */
  finish(currentUrl: string, checks: ProviderChecks): Promise<ProvenIdentity | null>;

  close(): Promise<void>;
}
