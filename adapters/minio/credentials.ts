/** What a request is signed with. */
export interface Credentials {
  readonly accessKey: string;
  readonly secretKey: string;
  /** Of temporary ones, which count for nothing without it. */
  readonly sessionToken?: string;
}

/** Credentials that hold until then at least, in ms since the epoch. Throws `StoreUnavailable` when there are none. */
export type CredentialSource = (endsAt: number) => Promise<Credentials>;

/** Who signs the addresses of a store. */
export interface SigningCredentials {
  readonly put: CredentialSource;
  readonly get: CredentialSource;
}

export function lasting({ accessKey, secretKey }: Credentials): CredentialSource {
  const credentials = { accessKey, secretKey };
  return () => Promise.resolve(credentials);
}
