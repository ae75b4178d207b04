import { useEffect, useState } from 'preact/hooks';
import type { Estimate, GenerationRequest } from '../api-types.js';
import { inApp } from '../apps/usable-apps.js';
import { change, codeOf, RequestFailed, sentenceOf } from '../server.js';

/** How long the form rests before it is estimated, in milliseconds. */
const REST_MS = 400;

export type Estimated =
  | { readonly state: 'unknown' }
  | { readonly state: 'known'; readonly credits: number }
  /** It cannot be paid, or not be said: why. */
  | {
      readonly state: 'refused';
      readonly sentence: string;
      readonly code: string;
      readonly pointer?: string | undefined;
    };

/** What the request would cost, a moment after it has changed. The price does not depend on the prompt. */
export function useEstimate(appId: string, request: GenerationRequest | undefined): Estimated {
  const [estimated, setEstimated] = useState<Estimated>({ state: 'unknown' });
  const asked = request === undefined ? undefined : JSON.stringify({ ...request, prompt: '-' });
  useEffect(() => {
    if (asked === undefined) return setEstimated({ state: 'unknown' });
    const leaving = new AbortController();
    const { signal } = leaving;
    const timer = setTimeout(() => {
      change<Estimate>(inApp(appId, '/generations/estimate'), JSON.parse(asked) as object, { signal }).then(
        ({ estimated_credits: credits }) => setEstimated({ state: 'known', credits }),
        (error: unknown) => {
          if (signal.aborted) return;
          const pointer = error instanceof RequestFailed ? error.refusal.pointer : undefined;
          setEstimated({ state: 'refused', sentence: sentenceOf(error), code: codeOf(error), pointer });
        },
      );
    }, REST_MS);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [appId, asked]);
  return estimated;
}
