import type { Context } from '../../../core/context.js';
import { secretText } from '../../../core/people/secrets.js';
import type { HttpContext } from '../host/http-context.js';
import { PageCookie } from '../pages/page-cookie.js';

const ID_BYTES = 16;
const KEPT_MS = 365 * 86_400_000;

/**
 * Knows a browser in which a person has signed in before. The cookie is a random id and a keyed digest of it with the
 * e-mail address: nobody can make one, and it signs nobody in.
 */
export class DeviceCookie {
  private readonly cookie: PageCookie;

  constructor(
    private readonly context: Pick<Context, 'digests' | 'ids'>,
    publicUrl: () => string,
  ) {
    this.cookie = new PageCookie('darkroom_device', { publicUrl, lifeMs: KEPT_MS });
  }

  /** The id of the browser, if this person has signed in with it. */
  read(ctx: HttpContext, email: string): string | undefined {
    const [id, proof] = (this.cookie.read(ctx) ?? '').split('.');
    return id !== undefined && proof === this.proofOf(id, email) ? id : undefined;
  }

  write(ctx: HttpContext, email: string): void {
    const id = this.read(ctx, email) ?? secretText(this.context.ids.random(ID_BYTES));
    this.cookie.write(ctx, `${id}.${this.proofOf(id, email)}`);
  }

  private proofOf(id: string, email: string): string {
    return this.context.digests.keyed(`sign-in-device ${id} ${email}`);
  }
}
