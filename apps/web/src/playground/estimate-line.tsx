import { numberText } from '../format.js';
import type { Overview } from '../server-types.js';
import type { Estimated } from './use-estimate.js';

interface EstimateLineProps {
  readonly estimated: Estimated;
  readonly account: Overview['account'];
}

/** What the request costs at most, or why that cannot be said or paid. */
export function EstimateLine({ estimated, account }: EstimateLineProps) {
  return (
    <p class="estimate" aria-live="polite">
      {textOf(estimated, account)}
    </p>
  );
}

function textOf(estimated: Estimated, { currency, available_credits: available }: EstimateLineProps['account']) {
  if (estimated.state === 'unknown') return '';
  if (estimated.state === 'known')
    return (
      <>
        <strong>{`${numberText(estimated.credits)} ${currency}`}</strong>
        <span class="quiet">{` at most, of ${numberText(available)} available`}</span>
      </>
    );
  // A field that is at fault says so itself.
  if (estimated.pointer !== undefined && estimated.pointer !== '')
    return <span class="quiet">The cost is shown once the fields are valid.</span>;
  return estimated.sentence;
}
