import { isoTime } from '../../../operator/iso-time.js';
import type { WithSignInLink } from '../../../operator/operator.js';
import { personJson } from '../../../operator/records.js';

/** A person, with the link that signs them in once, if they have one. */
export function withLink({ person, link }: WithSignInLink, publicUrl: string): object {
  return {
    person: personJson(person),
    ...(link === undefined
      ? {}
      : { sign_in_link: publicUrl + link.path, sign_in_link_expires_at: isoTime(link.expiresAt) }),
  };
}
