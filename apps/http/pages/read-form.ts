import { ServiceError } from '../../../core/errors.js';
import { fieldInvalid } from '../../../core/fields.js';
import type { HttpContext } from '../host/http-context.js';
import { readBytes } from '../host/read-bytes.js';

const FORM_TYPE = /^application\/x-www-form-urlencoded(?:[ \t]*;|$)/i;
const MAX_FORM_BYTES = 16 * 1024;
const MAX_FIELDS = 100;

/**
 * The fields of a form that a page of ours has sent. Throws MEDIA_TYPE_UNSUPPORTED, BODY_TOO_LARGE beyond 16 KiB,
 * REQUEST_TIMEOUT, and FIELD_INVALID for a field that is sent twice, unless it is one of `lists`.
 */
export async function readForm(
  { req }: Pick<HttpContext, 'req'>,
  { timeoutMs, lists = [] }: { readonly timeoutMs: number; readonly lists?: readonly string[] },
): Promise<URLSearchParams> {
  if (!FORM_TYPE.test(req.headers['content-type'] ?? ''))
    throw new ServiceError('MEDIA_TYPE_UNSUPPORTED', 'Send the form as application/x-www-form-urlencoded.');
  const bytes = await readBytes(req, { maxBytes: MAX_FORM_BYTES, timeoutMs });
  const form = new URLSearchParams(bytes.toString('utf8'));
  const names = [...form.keys()];
  if (names.length > MAX_FIELDS) throw fieldInvalid('', `A form may have at most ${MAX_FIELDS} fields.`);
  const twice = names.find((name, index) => !lists.includes(name) && names.indexOf(name) !== index);
  if (twice !== undefined) throw fieldInvalid(`/${twice}`, 'A field of the form was sent twice.');
  return form;
}
