import type { Context } from '../../../core/context.js';
import { ServiceError } from '../../../core/errors.js';
import { PASSKEY_CHALLENGE_MS } from '../../../core/people/passkey-challenge.js';
import { beginPasskeySignIn, personByPasskey } from '../../../core/people/passkey-sign-in.js';
import type { Person } from '../../../core/people/person.js';
import type { RelyingParty } from '../../../core/ports/passkey-verifier.js';
import type { HttpContext } from '../host/http-context.js';
import { readNoBody } from '../host/no-body.js';
import { readBody } from '../host/read-body.js';
import type { HttpRoute } from '../host/routing.js';
import { sendAnswer } from '../host/send.js';
import type { HttpShared } from '../host/server.js';
import { PageCookie } from '../pages/page-cookie.js';
import { requireRelyingParty } from '../pages/relying-party.js';
import { returnPath } from '../pages/return-path.js';
import { requireSameOrigin } from '../pages/same-origin.js';
import type { SignInRates } from '../pages/sign-in-rates.js';
import { withoutChallenge } from '../pages/without-challenge.js';
import { readPasskeyRequest } from './passkey-request.js';

const MAX_BODY_BYTES = 16 * 1024;

export interface PasskeyOperationsParts {
  readonly context: Context;
  readonly publicUrl: () => string;
  readonly bodyTimeoutMs: number;
  readonly rates: SignInRates;
  readonly addresses: HttpShared['addresses'];
  /** Begins the person's session. */
  readonly begin: (ctx: HttpContext, person: Person) => Promise<void>;
}

/** Sign-in with a passkey alone: what the script of the sign-in page asks of its server. */
export class PasskeyOperations {
  /** Keeps the challenge with the browser that asked for it. */
  private readonly cookie: PageCookie;

  constructor(private readonly parts: PasskeyOperationsParts) {
    this.cookie = new PageCookie('darkroom_passkey', { publicUrl: parts.publicUrl, lifeMs: PASSKEY_CHALLENGE_MS });
  }

  get routes(): readonly HttpRoute[] {
    return [
      this.route('/sign-in/passkey/begin', (ctx, party) => this.begin(ctx, party)),
      this.route('/sign-in/passkey/finish', (ctx, party) => this.finish(ctx, party)),
    ];
  }

  private async begin(ctx: HttpContext, party: RelyingParty): Promise<object> {
    const { context, bodyTimeoutMs, rates, addresses } = this.parts;
    await readNoBody(ctx.req, { timeoutMs: bodyTimeoutMs });
    // An answer needs a challenge, so that this counts them, too.
    await rates.take({ address: addresses.ofRequest(ctx.req) });
    const challenge = await beginPasskeySignIn(context);
    this.cookie.write(ctx, challenge);
    return { challenge, rp_id: party.id, timeout_ms: PASSKEY_CHALLENGE_MS };
  }

  private async finish(ctx: HttpContext, party: RelyingParty): Promise<object> {
    const { context, bodyTimeoutMs } = this.parts;
    const bounds = { required: true, maxBytes: MAX_BODY_BYTES, timeoutMs: bodyTimeoutMs };
    const { returnTo, ...answer } = readPasskeyRequest(context, await readBody(ctx.req, bounds));
    const challenge = this.cookie.take(ctx);
    const person =
      challenge === undefined ? undefined : await personByPasskey(context, party, { ...answer, challenge });
    if (!person) throw new ServiceError('PASSKEY_REFUSED');
    await this.parts.begin(ctx, person);
    return { location: returnPath(returnTo) };
  }

  private route(path: string, answer: (ctx: HttpContext, party: RelyingParty) => Promise<object>): HttpRoute {
    return {
      method: 'POST',
      path,
      serve: async (ctx) => {
        ctx.state.renderError = withoutChallenge;
        const publicUrl = this.parts.publicUrl();
        requireSameOrigin(ctx, publicUrl);
        await sendAnswer(ctx, 200, { data: await answer(ctx, requireRelyingParty(publicUrl)) });
      },
    };
  }
}
