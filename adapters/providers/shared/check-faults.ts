import type { HttpAnswer } from '../../http/http-answer.js';
import { HttpError } from '../../http/http-error.js';
import type { Connection } from './connection.js';

/**
 * The advice when a server refuses the key of a check: `refused`, the sentence about a wrong one, unless none is set at
 * all.
 */
export function keyFault({ base, credentials }: Pick<Connection, 'base' | 'credentials'>, refused: string): string {
  if (Object.keys(credentials).length > 0) return refused;
  return `${base} asks for a key, and none is set; set DARKROOM_PROVIDERS_<NAME>_API_KEY with the provider's name, or name a file in api_key_file.`;
}

/** The JSON of an answer, whatever type it declares; undefined where it is not JSON. Throws `HttpError`. */
export async function jsonOfCheck(answer: HttpAnswer, maxBytes?: number): Promise<unknown> {
  try {
    return await answer.json(maxBytes);
  } catch (error) {
    if (error instanceof HttpError && error.kind === 'bad-answer') return undefined;
    throw error;
  }
}

/**
 * The fault of a connection, as one sentence for the operator. `option` is the one that has the address. Throws what is
 * no `HttpError`.
 */
export function connectionFault(error: unknown, address: string, option = 'base_url'): string {
  if (!(error instanceof HttpError)) throw error;
  const { kind, code = '' } = error;
  const named = code === '' ? '' : ` (${code})`;
  if (kind === 'refused-address') return `${address} is an address that this service may not call; check ${option}.`;
  if (kind === 'aborted') return `The call to ${address} was aborted.`;
  if (code.startsWith('PROXY_'))
    return `The proxy made no connection to ${address}${named}; check HTTPS_PROXY, HTTP_PROXY and NO_PROXY of the process.`;
  if (isPlainAnswer(code)) return `${address} does not speak TLS${named}; check ${option}, or write http:// there.`;
  if (isTls(code)) return `${address} has no certificate that is trusted${named}; see ca_file.`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return `The host of ${address} was not found${named}; check ${option}.`;
  // A server in plain HTTP may answer the beginning of TLS so. Nothing says which of the two it is.
  if (!error.requestSent && code === 'ECONNRESET' && address.startsWith('https:'))
    return `${address} closed the connection before TLS began${named}; check ${option}, or write http:// there.`;
  if (!error.requestSent) return `Nothing answers at ${address}${named}; check ${option}, and whether the server runs.`;
  if (kind === 'bad-answer') return `${address} answers what cannot be read${named}; check whether ${option} is right.`;
  return `${address} did not give a whole answer${named}.`;
}

/** The TLS error if a server responds in plain HTTP. */
function isPlainAnswer(code: string): boolean {
  return /^ERR_SSL_(?:WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST)$/.test(code);
}

function isTls(code: string): boolean {
  return /CERT|SELF_SIGNED|^ERR_TLS|^ERR_SSL|UNABLE_TO_(?:GET|VERIFY)|^EPROTO$|ALTNAME/.test(code);
}
