import type { Context } from '../../../core/context.js';
import { StoreUnavailable } from '../../../core/errors.js';

const LIFE_MS = 60_000;

/**
 * The origin of signed addresses, which the page may load pictures from and send files to. Undefined where it is that of
 * the page itself, and while the object store has not been reached.
 */
export async function objectsOrigin(
  { objects, clock }: Pick<Context, 'objects' | 'clock'>,
  ownUrl: string,
): Promise<string | undefined> {
  try {
    const { url } = await objects.signGet({
      key: 'console/origin',
      mediaType: 'image/png',
      filename: 'origin.png',
      expiresAt: clock.now() + LIFE_MS,
    });
    const { origin } = new URL(url);
    return /^https?:\/\//.test(origin) && origin !== new URL(ownUrl).origin ? origin : undefined;
  } catch (error) {
    if (error instanceof StoreUnavailable) return undefined;
    throw error;
  }
}
