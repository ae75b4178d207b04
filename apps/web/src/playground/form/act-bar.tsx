import { COMMAND } from '../../frame/shortcuts.js';
import { numberText } from '../../format.js';
import { Button, SubmitButton } from '../../parts/buttons.js';
import { Attention, creditsText, Fault, PlaceLink } from '../../parts/parts.js';
import { overview } from '../../session.js';
import { outputsOf, type Playground } from '../use-playground.js';
import { isCount } from './parameters.js';

/** The cost and the button, in view whatever is scrolled. What stands in the way is said above the button. */
export function ActBar({
  play: { estimated, models, request, model, creating, fault, varySeed },
}: {
  play: Playground;
}) {
  const { credits, isCurrent, refused } = estimated;
  const { count } = outputsOf(models, request);
  const isCountRefused = isCount(refused?.pointer.replace('/parameters/', '') ?? '');
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
        <strong class={isCurrent ? 'push' : 'push faint'}>
          {credits === undefined || refused !== undefined ? '–' : creditsText(credits)}
        </strong>
        <span class="faint">{`of ${numberText(overview.value?.account.available_credits ?? 0)}`}</span>
      </p>
      <SubmitButton
        isBusy={creating !== undefined}
        busyText="Creating…"
        class="wide"
        onClick={(event) => {
          // The second click of a double click is no second intent.
          if (event.detail > 1) event.preventDefault();
        }}
      >
        {`Create ${count === 1 || isCountRefused ? '' : `${count} `}${model.modality}${count === 1 ? '' : 's'}${varySeed === undefined ? '' : ' again'}`}
        <kbd aria-hidden="true">{`${COMMAND} ↵`}</kbd>
      </SubmitButton>
    </div>
  );
}
