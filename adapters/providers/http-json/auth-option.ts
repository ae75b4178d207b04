import type { JsonObject } from '../../../core/json.js';

/** Headers that cannot have the key, as requests have them already. */
const OTHERS = '(?!(?:host|cookie|connection|content-|transfer-|accept|expect|te$|trailer|upgrade|keep-alive|proxy-))';

/** How the key is sent. A key in an address would be in the logs of every proxy on the way. */
export const AUTH_OPTION: JsonObject = {
  type: 'string',
  pattern: `^(?:bearer|scheme:[A-Za-z][A-Za-z0-9-]{0,31}|header:${OTHERS}[a-z][a-z0-9-]{0,63})$`,
  default: 'bearer',
  errorMessage:
    "must be 'bearer', 'scheme:' with another word for the header authorization, or 'header:' with the name of a header in lower case; a key is not sent in an address",
  description:
    "How the key is sent: 'bearer' as 'authorization: Bearer …'; 'scheme:Key' as 'authorization: Key …'; 'header:x-api-key' as that header alone.",
};

/** What an option's value means for the connection. */
export function authOf(auth: string): { readonly scheme: string; readonly header?: string } {
  const [form, name = ''] = auth.split(':');
  if (form === 'header') return { scheme: '', header: name };
  return { scheme: form === 'scheme' ? name : 'Bearer' };
}
