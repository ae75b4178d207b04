import { useEffect, useState } from 'preact/hooks';
import type { Estimate, GenerationRequest } from '../../api-types.js';
import { COMMAND } from '../../frame/shortcuts.js';
import { numberText } from '../../format.js';
import { Button, SubmitButton } from '../../parts/buttons.js';
import { Attention, creditsText, Fault, PlaceLink } from '../../parts/parts.js';
import { change, codeOf, inApp, pointerOf, sentenceOf } from '../../server.js';
import { overview } from '../../session.js';

/** Why a request cannot be sent, or was refused. */
export interface Refusal {
  readonly sentence: string;
  /** Empty for one of this page. */
  readonly code: string;
  /** The JSON Pointer of its field; empty for none. */
  readonly pointer: string;
}

export function refusalIn(error: unknown): Refusal {
  return { sentence: sentenceOf(error), code: codeOf(error), pointer: pointerOf(error) };
}

/** How long the form rests before the cost is requested, in milliseconds. */
const REST_MS = 400;

/** The cost of the request, a moment after it has changed. The price does not depend on the prompt. */
export function useEstimate(appId: string, request: GenerationRequest | undefined) {
  const [known, setKnown] = useState<{ asked?: string; credits?: number; refused?: Refusal }>({});
  const asked = request === undefined ? undefined : JSON.stringify({ ...request, prompt: '-' });
  useEffect(() => {
    if (asked === undefined) return;
    const leaving = new AbortController();
    const { signal } = leaving;
    const timer = setTimeout(() => {
      change<Estimate>(inApp(appId, '/generations/estimate'), JSON.parse(asked) as object, { signal }).then(
        ({ estimated_credits: credits }) => setKnown({ asked, credits }),
        (error: unknown) => {
          if (!signal.aborted) setKnown((before) => ({ ...before, asked, refused: refusalIn(error) }));
        },
      );
    }, REST_MS);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [appId, asked]);
  const isCurrent = asked !== undefined && known.asked === asked;
  const { credits, refused } = known;
  return {
    /** The last known cost; undefined before there is one. */
    credits,
    /** Whether the cost is that of the form as it is now. */
    isCurrent: isCurrent && refused === undefined,
    /** Why the service would refuse the request. */
    refused: isCurrent ? refused : undefined,
  };
}

interface ActBarProps {
  estimated: ReturnType<typeof useEstimate>;
  /** Such as "4 images". */
  what: string;
  isBusy: boolean;
  /** Why the last create was refused. */
  fault: Refusal | undefined;
  /** Set where the same seed has given the same output before: uses another one. */
  varySeed: (() => void) | undefined;
}

/** The cost and the button, in view whatever is scrolled. What stands in the way is said above the button. */
export function ActBar({ estimated, what, isBusy, fault, varySeed }: ActBarProps) {
  const { credits, isCurrent, refused } = estimated;
  // What is wrong with a field stands at the field.
  const isOfField = fault !== undefined && !['', '/model_key', '/operation'].includes(fault.pointer);
  const said = fault === undefined || isOfField ? (refused?.pointer === '' ? refused : undefined) : fault;
  return (
    <div class="act-bar">
      <Fault text={said?.sentence}>
        {[refused?.code, fault?.code].includes('CREDITS_INSUFFICIENT') ? (
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
        <span class="faint">{`of ${numberText(overview.value?.account.available_credits ?? 0)}`}</span>
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
        {`Create ${what}${varySeed === undefined ? '' : ' again'}`}
        <kbd aria-hidden="true">{`${COMMAND} ↵`}</kbd>
      </SubmitButton>
    </div>
  );
}
