import type { Context } from '../../../core/context.js';
import { secretText } from '../../../core/people/secrets.js';
import type { HttpContext } from '../host/http-context.js';

const ID_BYTES = 16;
const KEPT_MS = 365 * 86_400_000;

/**
 * Knows a browser in which a person has signed in before. The cookie is a random id and a keyed digest of it with the
 * e-mail address: nobody can make one, and it signs nobody in.
 */
export class DeviceCookie {
  constructor(
    private readonly context: Pick<Context, 'digests' | 'ids'>,
    private readonly publicUrl: () => string,
  ) {}

  /** The id of the browser, if this person has signed in with it. */
  read(ctx: HttpContext, email: string): string | undefined {
    const [id, proof] = (ctx.cookies.get(this.name) ?? '').split('.');
    return id !== undefined && proof === this.proofOf(id, email) ? id : undefined;
  }

  write(ctx: HttpContext, email: string): void {
    const id = this.read(ctx, email) ?? secretText(this.context.ids.random(ID_BYTES));
    const secure = this.publicUrl().startsWith('https:');
    ctx.cookies.secure = secure;
    ctx.cookies.set(this.name, `${id}.${this.proofOf(id, email)}`, {
      httpOnly: true,
      sameSite: 'lax',
      path: '/',
      secure,
      maxAge: KEPT_MS,
      overwrite: true,
    });
  }

  private proofOf(id: string, email: string): string {
    return this.context.digests.keyed(`sign-in-device ${id} ${email}`);
  }

  private get name(): string {
    return this.publicUrl().startsWith('https:') ? '__Host-darkroom_device' : 'darkroom_device';
  }
}
