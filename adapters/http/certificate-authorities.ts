import { readFileSync } from 'node:fs';
import * as tls from 'node:tls';

/**
 * What is trusted: undefined for the machine's own authorities alone, which a list of others would otherwise take the
 * place of. What NODE_EXTRA_CA_CERTS adds is trusted in both cases.
 */
export function trustedAuthorities(extra: readonly string[] = []): readonly string[] | undefined {
  if (extra.length === 0) return undefined;
  // Releases of Node before 22.15 cannot say what they trust.
  const { getCACertificates } = tls as { readonly getCACertificates?: (kind: 'default') => string[] };
  const own = getCACertificates?.('default') ?? [...tls.rootCertificates, ...addedByEnvironment()];
  return [...own, ...extra];
}

/** Node has warned, when it was started, of a file that it cannot read. */
function addedByEnvironment(): readonly string[] {
  const path = process.env['NODE_EXTRA_CA_CERTS'] ?? '';
  try {
    return path === '' ? [] : [readFileSync(path, 'utf8')];
  } catch {
    return [];
  }
}
