import { PageCookie } from './page-cookie.js';

/** How long a person may stay at the outside provider. */
const AWAY_MS = 600_000;

/** Knows a browser that was sent to the outside provider when it comes back. */
export function outsideCookie(publicUrl: () => string): PageCookie {
  return new PageCookie('darkroom_outside', { publicUrl, lifeMs: AWAY_MS });
}
