const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const BODY_LENGTH = 43;
const CHECKSUM_LENGTH = 6;
const SHAPE = new RegExp(`^svc_live_[0-9A-Za-z]{${BODY_LENGTH + CHECKSUM_LENGTH}}$`);

export const API_KEY_PREFIX = 'svc_live_';
export const API_KEY_BYTES = 32;

/**
 * Writes 32 random bytes as an API key: the prefix, 43 characters of base62, and a 6-character checksum, so that a
 * mistyped or truncated key is recognised without a read of the store.
 */
export function formatApiKey(random: Uint8Array): string {
  const body = base62(toBigInt(random), BODY_LENGTH);
  return API_KEY_PREFIX + body + checksum(body);
}

/** Whether the text could have come from `formatApiKey`. */
export function isApiKeyShaped(text: string): boolean {
  if (!SHAPE.test(text)) return false;
  const body = text.slice(API_KEY_PREFIX.length, -CHECKSUM_LENGTH);
  return checksum(body) === text.slice(-CHECKSUM_LENGTH);
}

function checksum(body: string): string {
  return base62(BigInt(crc32(body)), CHECKSUM_LENGTH);
}

function toBigInt(bytes: Uint8Array): bigint {
  return bytes.reduce((value, byte) => (value << 8n) | BigInt(byte), 0n);
}

function base62(value: bigint, length: number): string {
  let text = '';
  for (let rest = value; text.length < length; rest /= 62n) text = (ALPHABET[Number(rest % 62n)] ?? '') + text;
  return text;
}

/** CRC-32 (ISO-HDLC) of ASCII text. */
function crc32(text: string): number {
  let crc = 0xffff_ffff;
  for (let index = 0; index < text.length; index += 1) {
    crc ^= text.charCodeAt(index);
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb8_8320 : 0);
  }
  return (crc ^ 0xffff_ffff) >>> 0;
}
