import type { HttpContext } from '../host/http-context.js';

const LIFE_MS = 600_000;

/** A secret that a browser keeps while it is at another server, for ten minutes. */
export class OneTimeCookie {
  constructor(
    private readonly name: string,
    private readonly publicUrl: () => string,
  ) {}

  write(ctx: HttpContext, secret: string): void {
    this.set(ctx, secret, LIFE_MS);
  }

  /** The secret, which the browser forgets. */
  take(ctx: HttpContext): string | undefined {
    const secret = ctx.cookies.get(this.fullName);
    this.set(ctx, '', 0);
    return secret;
  }

  private set(ctx: HttpContext, value: string, maxAge: number): void {
    const { isSecure } = this;
    ctx.cookies.secure = isSecure;
    // Lax: the other server leads back here by a link.
    ctx.cookies.set(this.fullName, value, {
      httpOnly: true,
      sameSite: 'lax',
      path: '/',
      secure: isSecure,
      maxAge,
      overwrite: true,
    });
  }

  private get fullName(): string {
    return this.isSecure ? `__Host-${this.name}` : this.name;
  }

  private get isSecure(): boolean {
    return this.publicUrl().startsWith('https:');
  }
}
