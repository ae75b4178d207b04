import * as tls from 'node:tls';

/**
 * What is trusted: undefined for the machine's own authorities alone, which a list of others would otherwise take the
 * place of.
 */
export function trustedAuthorities(extra: readonly string[] = []): readonly string[] | undefined {
  if (extra.length === 0) return undefined;
  // Releases of Node before 22.15 cannot say what was added by NODE_EXTRA_CA_CERTS.
  const { getCACertificates } = tls as { readonly getCACertificates?: (kind: 'default') => string[] };
  return [...(getCACertificates?.('default') ?? tls.rootCertificates), ...extra];
}
