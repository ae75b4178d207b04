import { useState } from 'preact/hooks';
import { numberText, textOf, timeText } from '../../format.js';
import { Field } from '../../parts/form.js';
import { change, codeOf, Explained } from '../../server.js';
import { type Act, ActDialog } from '../acts.js';
import type { Account, Operated } from '../server-types.js';

export type CreditsKind = 'grants' | 'adjustments';

interface CreditsDialogProps {
  readonly account: Account;
  readonly path: string;
  /** Undefined while the dialog is closed. */
  readonly kind: CreditsKind | undefined;
  readonly close: () => void;
  /** Loads the account and its ledger again. */
  readonly changed: () => Promise<void>;
  readonly done: (sentence: string) => Promise<void>;
}

const EARLIER =
  'An earlier try, with another amount or reason, has gone through after all. Look at the ledger before you continue.';

/**
 * Grants credits to an account or adjusts them. One id identifies what is asked until it has succeeded: whatever is clicked,
 * and whichever response is lost, the operation happens once.
 */
export function CreditsDialog({ account, path, kind, close, changed, done }: CreditsDialogProps) {
  const [operationId, setOperationId] = useState(() => crypto.randomUUID());
  const [amount, setAmount] = useState('');
  const send = async (form: FormData): Promise<string> => {
    const sent = { operation_id: operationId, credits: Number(amount), reason: textOf(form, 'reason').trim() };
    try {
      const { earlier_at: earlierAt } = await change<Operated>(`${path}/${kind}`, sent);
      setOperationId(crypto.randomUUID());
      setAmount('');
      return earlierAt === undefined
        ? 'The entry is in the ledger.'
        : `The entry went through at ${timeText(earlierAt)} already, and is in the ledger once.`;
    } catch (refusal) {
      if (codeOf(refusal) !== 'CONFLICT') throw refusal;
      setOperationId(crypto.randomUUID());
      await changed();
      throw new Explained(EARLIER);
    }
  };
  const closed = (): void => {
    setAmount('');
    close();
  };
  const credits = /^-?\d{1,15}$/.test(amount) ? Number(amount) : undefined;
  const act: Act | undefined = kind && {
    question: kind === 'grants' ? `Grant credits to “${account.name}”` : `Adjust credits of “${account.name}”`,
    consequence:
      kind === 'grants'
        ? 'An entry of the ledger can’t be removed; an adjustment corrects it.'
        : 'An adjustment corrects what was granted. An amount below 0 takes credits back.',
    isHarmless: true,
    doIt: buttonText(kind, credits, account),
    busyText: kind === 'grants' ? 'Granting…' : 'Adjusting…',
    children: <Fields account={account} amount={amount} credits={credits} setAmount={setAmount} />,
    action: send,
  };
  return <ActDialog act={act} close={closed} done={done} />;
}

/** The act by name: `Grant 500 credits`. */
function buttonText(kind: CreditsKind, credits: number | undefined, { currency }: Account): string {
  if (kind === 'grants')
    return credits === undefined ? `Grant ${currency}` : `Grant ${numberText(credits)} ${currency}`;
  if (credits === undefined) return `Adjust ${currency}`;
  return credits < 0 ? `Take back ${numberText(-credits)} ${currency}` : `Add ${numberText(credits)} ${currency}`;
}

interface FieldsProps {
  readonly account: Account;
  readonly amount: string;
  /** Absent until the amount is a whole number. */
  readonly credits: number | undefined;
  readonly setAmount: (text: string) => void;
}

function Fields({ account, amount, credits, setAmount }: FieldsProps) {
  const { available_credits: available, currency } = account;
  return (
    <>
      <Field label="Amount" note={`in ${currency}`}>
        {(control) => (
          <input
            {...control}
            class="input"
            name="credits"
            required
            inputMode="numeric"
            pattern="-?[0-9]{1,15}"
            title="A whole number"
            value={amount}
            onInput={({ currentTarget }) => setAmount(currentTarget.value.trim())}
          />
        )}
      </Field>
      <p class="balance-after" aria-live="polite">
        {credits === undefined ? (
          <>
            Balance now <strong>{`${numberText(available)} ${currency}`}</strong>
          </>
        ) : (
          <>
            Balance after{' '}
            <strong class={available + credits < 0 ? 'bad' : undefined}>
              {`${numberText(available + credits)} ${currency}`}
            </strong>
            <span class="faint">{`, ${numberText(available)} now`}</span>
          </>
        )}
      </p>
      <Field label="Reason" hint="It stays in the ledger, where the people of the account read it.">
        {(control) => (
          <input
            {...control}
            class="input"
            name="reason"
            required
            maxLength={1_000}
            pattern=".*\S.*"
            title="A reason"
          />
        )}
      </Field>
    </>
  );
}
