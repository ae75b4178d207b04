import { ServiceError } from '../../../../core/errors.js';
import { beginOutsideSignIn } from '../../../../core/people/outside-sign-in.js';
import { requireRecentSignIn } from '../../../../core/people/sessions.js';
import { outsideCookie } from '../../pages/outside-cookie.js';
import type { ConsoleOperation } from '../console-operation.js';

/** Where at the outside provider the person goes on. Who comes back from there is linked to this session's person. */
export const linkIdentity: ConsoleOperation = {
  method: 'POST',
  path: '/identities/link',
  async answer({ context, publicUrl, outsideProvider: provider }, { ctx, signedIn }) {
    if (!provider) throw new ServiceError('NOT_FOUND', 'No outside provider is configured.');
    requireRecentSignIn(context, signedIn.session);
    const { location, secret } = await beginOutsideSignIn(context, provider, {
      returnTo: '/console/sign-in',
      sessionId: signedIn.session.sessionId,
    });
    outsideCookie(publicUrl).write(ctx, secret);
    return { location };
  },
};
