import { useState } from 'preact/hooks';
import { numberText, textOf, timeText } from '../../format.js';
import { ask } from '../../parts/ask.js';
import { TextField } from '../../parts/form.js';
import { creditsText } from '../../parts/parts.js';
import { change, codeOf, Explained } from '../../server.js';
import { useData } from '../../use-data.js';
import type { Account } from '../account-list.js';

const EARLIER =
  'An earlier try, with another amount or reason, has gone through after all. Look at the ledger before you continue.';

/**
 * Returns a function that asks for credits to grant to an account, or to adjust. One id identifies what is asked until it has
 * succeeded: whatever is clicked, and whichever response is lost, the operation happens once.
 */
export function useCredits(path: string, changed: () => Promise<void>, said: (sentence: string) => Promise<void>) {
  const [operation] = useState(() => ({ id: crypto.randomUUID() }));
  const renew = (): void => void Object.assign(operation, { id: crypto.randomUUID() });
  const send = async (kind: 'grants' | 'adjustments', form: FormData): Promise<string> => {
    const sent = { operation_id: operation.id, credits: creditsOf(form), reason: textOf(form, 'reason').trim() };
    try {
      // `earlier_at` is the time when it was first made, if this is a repetition.
      const { earlier_at: earlierAt } = await change<{ readonly earlier_at?: string }>(`${path}/${kind}`, sent);
      renew();
      return earlierAt === undefined
        ? 'The entry is in the ledger.'
        : `The entry went through at ${timeText(earlierAt)} already, and is in the ledger once.`;
    } catch (refusal) {
      if (codeOf(refusal) !== 'CONFLICT') throw refusal;
      renew();
      await changed();
      throw new Explained(EARLIER);
    }
  };
  return ({ name, currency }: Account, kind: 'grants' | 'adjustments'): void => {
    const isGrant = kind === 'grants';
    ask({
      title: isGrant ? `Grant credits to “${name}”` : `Adjust credits of “${name}”`,
      text: isGrant
        ? 'An entry of the ledger can’t be removed; an adjustment corrects it.'
        : 'An adjustment corrects what was granted. An amount below 0 takes credits back.',
      isHarmless: true,
      doIt: (form) => {
        const credits = creditsOf(form);
        if (credits === undefined) return `${isGrant ? 'Grant' : 'Adjust'} ${currency}`;
        const verb = isGrant ? 'Grant' : credits < 0 ? 'Take back' : 'Add';
        return `${verb} ${creditsText(isGrant ? credits : Math.abs(credits), currency)}`;
      },
      fields: <Fields path={path} />,
      act: (form) => send(kind, form),
      done: said,
    });
  };
}

/** Undefined until the amount is a whole number. */
function creditsOf(form: FormData): number | undefined {
  const text = textOf(form, 'credits').trim();
  return /^-?\d{1,15}$/.test(text) ? Number(text) : undefined;
}

function Fields({ path }: { path: string }) {
  const [credits, setCredits] = useState<number>();
  // It is loaded again, since the balance may change meanwhile.
  const account = useData<{ readonly account: Account }>(path, { everyMs: 5_000 }).value?.account;
  const available = account?.available_credits ?? 0;
  const currency = account?.currency ?? 'credits';
  return (
    <>
      <TextField
        label="Amount"
        note={`in ${currency}`}
        name="credits"
        required
        inputMode="numeric"
        pattern="\s*-?[0-9]{1,15}\s*"
        title="A whole number"
        onInput={({ currentTarget: { form } }) => setCredits(creditsOf(new FormData(form ?? undefined)))}
      />
      <p class="balance-after" aria-live="polite">
        {credits === undefined ? 'Balance now ' : 'Balance after '}
        <strong class={credits !== undefined && available + credits < 0 ? 'bad' : undefined}>
          {creditsText(available + (credits ?? 0), currency)}
        </strong>
        {credits === undefined ? null : <span class="faint">{`, ${numberText(available)} now`}</span>}
      </p>
      <TextField
        label="Reason"
        hint="It stays in the ledger, where the people of the account read it."
        name="reason"
        required
        maxLength={1_000}
        pattern=".*\S.*"
        title="A reason"
      />
    </>
  );
}
