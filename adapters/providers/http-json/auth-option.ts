import type { JsonObject } from '../../../core/json.js';
import type { Options } from '../../driver.js';

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

/** A header of the settings, whose form is right, that has the name of the one for the key: one sentence after its place. */
export function keyHeaderFault(settings: JsonObject, { auth }: Options): string | undefined {
  const { header } = authOf(typeof auth === 'string' ? auth : 'bearer');
  const { headers = {}, submit = {} } = settings as {
    readonly headers?: JsonObject;
    readonly submit?: { readonly idempotency_header?: string };
  };
  if (submit.idempotency_header?.toLowerCase() === header)
    return '/submit/idempotency_header: This header has the key, as auth of the instance says.';
  const name = Object.keys(headers).find((one) => one.toLowerCase() === header);
  return name === undefined ? undefined : `/headers/${name}: This header has the key, as auth of the instance says.`;
}

/** The meaning of an option's value for the connection. */
export function authOf(auth: string): { readonly scheme: string; readonly header: string } {
  const [form, name = ''] = auth.split(':');
  if (form === 'header') return { scheme: '', header: name };
  return { scheme: form === 'scheme' ? name : 'Bearer', header: 'authorization' };
}
