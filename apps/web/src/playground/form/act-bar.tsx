import { useEffect, useState } from 'preact/hooks';
import type { Estimate, GenerationRequest } from '../../api-types.js';
import { COMMAND } from '../../frame/shortcuts.js';
import { numberText } from '../../format.js';
import { Button, SubmitButton } from '../../parts/buttons.js';
import { Attention, creditsText, Fault, PlaceLink } from '../../parts/parts.js';
import { change, codeOf, inApp, pointerOf, sentenceOf } from '../../server.js';

/** How long the form rests before the cost is requested, in milliseconds. */
const REST_MS = 400;

export interface Estimated {
  /** The last known cost; undefined before there is one. */
  readonly credits: number | undefined;
  /** Whether the cost is that of the form as it is now. */
  readonly isCurrent: boolean;
  /** Why the service would refuse the request. */
  readonly refused: { readonly sentence: string; readonly code: string; readonly pointer: string } | undefined;
}

/** The cost of the request, a moment after it has changed. The price does not depend on the prompt. */
export function useEstimate(appId: string, request: GenerationRequest | undefined): Estimated {
  const [known, setKnown] = useState<Omit<Estimated, 'isCurrent'> & { readonly asked?: string }>({
    credits: undefined,
    refused: undefined,
  });
  const asked = request === undefined ? undefined : JSON.stringify({ ...request, prompt: '-' });
  useEffect(() => {
    if (asked === undefined) return;
    const leaving = new AbortController();
    const { signal } = leaving;
    const timer = setTimeout(() => {
      change<Estimate>(inApp(appId, '/generations/estimate'), JSON.parse(asked) as object, { signal }).then(
        ({ estimated_credits: credits }) => setKnown({ asked, credits, refused: undefined }),
        (error: unknown) => {
          if (signal.aborted) return;
          const refused = { sentence: sentenceOf(error), code: codeOf(error), pointer: pointerOf(error) };
          setKnown(({ credits }) => ({ asked, credits, refused }));
        },
      );
    }, REST_MS);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [appId, asked]);
  const isCurrent = asked !== undefined && known.asked === asked;
  return {
    credits: known.credits,
    isCurrent: isCurrent && known.refused === undefined,
    refused: isCurrent ? known.refused : undefined,
  };
}

interface ActBarProps {
  readonly estimated: Estimated;
  readonly available: number;
  /** Such as "4 images". */
  readonly what: string;
  readonly isBusy: boolean;
  /** Why the last create was refused, and the code of the refusal. */
  readonly fault: string | undefined;
  readonly faultCode: string;
  /** Set where the same seed has given the same output before: uses another one. */
  readonly varySeed: (() => void) | undefined;
}

/** The cost and the button, in view whatever is scrolled. What stands in the way is said above the button. */
export function ActBar({ estimated, available, what, isBusy, fault, faultCode, varySeed }: ActBarProps) {
  const { credits, isCurrent, refused } = estimated;
  const isShort = [refused?.code, faultCode].includes('CREDITS_INSUFFICIENT');
  // What is wrong with a field stands at the field.
  const sentence = fault ?? (refused === undefined || refused.pointer !== '' ? undefined : refused.sentence);
  return (
    <div class="act-bar">
      <Fault text={sentence}>
        {isShort ? (
          <PlaceLink page="usage" class="button small">
            See usage
          </PlaceLink>
        ) : null}
      </Fault>
      {varySeed === undefined ? null : (
        <Attention
          action={
            <Button isSmall onClick={varySeed}>
              Use another seed
            </Button>
          }
        >
          The same settings and seed give the same result.
        </Attention>
      )}
      <p class="cost">
        <span class="muted">Cost</span>
        <strong class={isCurrent ? 'push' : 'push faint'}>{credits === undefined ? '–' : creditsText(credits)}</strong>
        <span class="faint">{`of ${numberText(available)}`}</span>
      </p>
      <SubmitButton
        isBusy={isBusy}
        busyText="Creating…"
        class="wide"
        onClick={(event) => {
          // The second click of a double click is no second intent.
          if (event.detail > 1) event.preventDefault();
        }}
      >
        {varySeed === undefined ? `Create ${what}` : `Create ${what} again`}
        <kbd aria-hidden="true">{`${COMMAND} ↵`}</kbd>
      </SubmitButton>
    </div>
  );
}
