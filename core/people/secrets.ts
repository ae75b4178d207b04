import type { Context } from '../context.js';

/**
 * The id under which the store keeps a secret: it never has the secret itself. The kind is part of what is digested, so
 * a secret of one kind is none of another.
 */
export function secretDigest({ digests }: Pick<Context, 'digests'>, kind: string, secret: string): string {
  return digests.keyed(`${kind} ${secret}`);
}

/** Base64url (RFC 4648) without padding. */
export function secretText(bytes: Uint8Array): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  let text = '';
  let bits = 0;
  let value = 0;
  for (const byte of bytes) {
    value = ((value << 8) | byte) & 0xffff;
    bits += 8;
    while (bits >= 6) {
      bits -= 6;
      text += alphabet[(value >> bits) & 63];
    }
  }
  return bits === 0 ? text : text + (alphabet[(value << (6 - bits)) & 63] ?? '');
}
