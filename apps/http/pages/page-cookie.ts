import type { HttpContext } from '../host/http-context.js';

export interface PageCookieOptions {
  readonly publicUrl: () => string;
  /** How long a browser keeps it, in milliseconds. */
  readonly lifeMs: number;
}

/** A cookie of the pages, which no script can read and which requests of other sites do not carry. */
export class PageCookie {
  constructor(
    private readonly name: string,
    private readonly options: PageCookieOptions,
  ) {}

  read(ctx: HttpContext): string | undefined {
    return ctx.cookies.get(this.fullName);
  }

  write(ctx: HttpContext, value: string): void {
    this.set(ctx, value, this.options.lifeMs);
  }

  /** Has the browser forget it. */
  clear(ctx: HttpContext): void {
    this.set(ctx, '', 0);
  }

  /** What the browser sent, which it then forgets. */
  take(ctx: HttpContext): string | undefined {
    const value = this.read(ctx);
    this.clear(ctx);
    return value;
  }

  private set(ctx: HttpContext, value: string, maxAge: number): void {
    const { isSecure } = this;
    // The connection that the server sees may be a proxy's; what the browser uses is the public address.
    ctx.cookies.secure = isSecure;
    // Lax: links of other sites lead here as the person who is signed in.
    ctx.cookies.set(this.fullName, value, {
      httpOnly: true,
      sameSite: 'lax',
      path: '/',
      secure: isSecure,
      maxAge,
      overwrite: true,
    });
  }

  /** With the prefix `__Host-` browsers take the cookie from this host alone, over TLS alone. */
  private get fullName(): string {
    return this.isSecure ? `__Host-${this.name}` : this.name;
  }

  private get isSecure(): boolean {
    return this.options.publicUrl().startsWith('https:');
  }
}
