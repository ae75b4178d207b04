import type { JsonObject } from '../../../core/json.js';
import { FILLED_TEXT } from '../../driver.js';

/** Printable ASCII: what a header can carry. */
export const KEY_PATTERN = '^[\\x21-\\x7e]+$';

/**
 * The options of a provider that is reached over HTTP, as properties of a driver's options. Without a `baseUrl`, the
 * driver requires `base_url`.
 */
export function connectionOptions({ baseUrl }: { readonly baseUrl?: string } = {}): JsonObject {
  return {
    base_url: {
      type: 'string',
      format: 'uri',
      pattern: '^https?://[^?#@\\s]+$',
      ...(baseUrl === undefined ? {} : { default: baseUrl }),
      errorMessage: 'must be an http or https URL without a user name and a query',
      description: 'The address of the server, with the path that its routes begin with.',
    },
    api_key: {
      type: 'string',
      pattern: KEY_PATTERN,
      writeOnly: true,
      errorMessage: 'must be a key of printable characters without spaces',
      description: 'The key that the server asks for. Better set by a variable, or kept in a file.',
    },
    api_key_file: { ...FILLED_TEXT, description: 'A file that has the key, in place of api_key.' },
    ca_file: {
      ...FILLED_TEXT,
      description: 'A file of certificates in PEM that are trusted in addition to those of the machine.',
    },
    proxy: {
      type: 'string',
      enum: ['none', 'environment'],
      default: 'none',
      description:
        "'environment': requests go through the proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY of the process choose, which must allow CONNECT. 'none': directly.",
    },
    connect_timeout_seconds: seconds(10, 300, 'The longest wait for a connection.'),
    answer_timeout_seconds: seconds(30, 3_600, 'The longest wait for an answer to a call that makes nothing.'),
    idle_timeout_seconds: seconds(60, 3_600, 'The longest silence of a connection within a response that has begun.'),
    max_connections: {
      type: 'integer',
      minimum: 1,
      maximum: 1_000,
      default: 100,
      description: 'Connections of one process to the server. A task that finds none free waits for one.',
    },
  };
}

function seconds(byDefault: number, maximum: number, description: string): JsonObject {
  return { type: 'number', exclusiveMinimum: 0, maximum, default: byDefault, description };
}
