import { useRef, useState } from 'preact/hooks';
import { announce } from '../../announce.js';
import { textOf } from '../../form-text.js';
import { numberText, timeText } from '../../format.js';
import { Card, focusOn } from '../../parts/card.js';
import { change, RequestFailed } from '../../server.js';
import { failureOf, FailureNote, type ActFailure } from '../act-failure.js';
import type { Account, Operated } from '../server-types.js';

interface CreditsFormProps {
  readonly account: Account;
  readonly path: string;
  readonly changed: () => Promise<void>;
  readonly refused: () => void;
}

/** What is to be confirmed. */
interface Asked {
  readonly kind: 'grants' | 'adjustments';
  readonly credits: number;
  readonly reason: string;
}

/** Gives an account credits, or corrects what it was given, after a look at what will come of it. */
export function CreditsForm({ account, path, changed, refused }: CreditsFormProps) {
  const form = useRef<HTMLFormElement>(null);
  const dialog = useRef<HTMLDialogElement>(null);
  const [asked, setAsked] = useState<Asked>();
  const ask = (event: SubmitEvent): void => {
    event.preventDefault();
    const sent = new FormData(event.currentTarget as HTMLFormElement);
    setAsked({
      kind: textOf(sent, 'kind') === 'adjustments' ? 'adjustments' : 'grants',
      credits: Number(textOf(sent, 'credits')),
      reason: textOf(sent, 'reason').trim(),
    });
    requestAnimationFrame(() => dialog.current?.showModal());
  };
  const done = async (sentence: string): Promise<void> => {
    dialog.current?.close();
    form.current?.reset();
    await changed();
    announce(sentence);
    focusOn('give-credits');
  };
  return (
    <Card
      id="give-credits"
      title="Grant or adjust"
      note="A grant issues credits. An adjustment corrects what was issued, either way: a number below 0 takes credits back."
    >
      <form ref={form} onSubmit={ask} autocomplete="off">
        <div class="fields">
          <label>
            Kind
            <select name="kind">
              <option value="grants">Grant</option>
              <option value="adjustments">Adjustment</option>
            </select>
          </label>
          <label>
            {`Amount, in ${account.currency}`}
            <input name="credits" required inputMode="numeric" pattern="-?[0-9]{1,15}" title="A whole number" />
          </label>
        </div>
        <label>
          Reason
          <input name="reason" required maxLength={1_000} pattern=".*\S.*" aria-describedby="reason-note" />
          <small id="reason-note">It stays in the ledger, where the people of the account read it.</small>
        </label>
        <button type="submit">Go on</button>
      </form>
      <dialog ref={dialog} aria-label="Confirm the amount">
        <Confirmation
          account={account}
          path={path}
          asked={asked}
          close={() => dialog.current?.close()}
          done={done}
          changed={changed}
          refused={refused}
        />
      </dialog>
    </Card>
  );
}

interface ConfirmationProps extends CreditsFormProps {
  readonly asked: Asked | undefined;
  readonly close: () => void;
  readonly done: (sentence: string) => Promise<void>;
}

/**
 * One id stands for this form until it has gone through: whatever is clicked, and whatever answer is lost, it happens
 * once.
 */
function Confirmation({ account, path, asked, close, done, changed, refused }: ConfirmationProps) {
  const [operationId, setOperationId] = useState(() => crypto.randomUUID());
  const [isBusy, setBusy] = useState(false);
  const [failed, setFailed] = useState<{ readonly of: Asked; readonly failure: ActFailure }>();
  if (asked === undefined) return null;
  const { kind, credits, reason } = asked;
  const confirm = async (): Promise<void> => {
    setBusy(true);
    setFailed(undefined);
    try {
      const sent = { operation_id: operationId, credits, reason };
      const { earlier_at: earlierAt } = await change<Operated>(`${path}/${kind}`, sent);
      setOperationId(crypto.randomUUID());
      await done(
        earlierAt === undefined
          ? 'It is in the ledger.'
          : `It went through at ${timeText(earlierAt)} already, and is in the ledger once.`,
      );
    } catch (error) {
      const failure = failureOf(error);
      if (failure.needsSignIn) refused();
      const isOther = error instanceof RequestFailed && error.code === 'CONFLICT';
      setFailed({ of: asked, failure: isOther ? { ...failure, sentence: EARLIER } : failure });
      if (isOther) {
        setOperationId(crypto.randomUUID());
        await changed();
      }
    } finally {
      setBusy(false);
    }
  };
  return (
    <article>
      <h3>{titleOf(asked, account)}</h3>
      <p>
        {`“${account.name}” has ${numberText(account.available_credits)} available now, and `}
        <strong>{numberText(account.available_credits + credits)}</strong>
        {' afterwards. An entry of the ledger cannot be removed.'}
      </p>
      <p class="quiet">{`Reason: ${reason}`}</p>
      <FailureNote failure={failed?.of === asked ? failed.failure : undefined} />
      <footer>
        <button type="button" class="secondary" onClick={close}>
          Cancel
        </button>
        <button type="button" aria-busy={isBusy} disabled={isBusy} onClick={() => void confirm()}>
          {kind === 'grants' ? 'Grant' : 'Adjust'}
        </button>
      </footer>
    </article>
  );
}

const EARLIER =
  'An earlier try of this form, with another amount, has gone through after all. Look at the ledger before you go on.';

function titleOf({ kind, credits }: Asked, { currency }: Account): string {
  if (kind === 'grants') return `Grant ${numberText(credits)} ${currency}?`;
  return credits < 0
    ? `Take ${numberText(-credits)} ${currency} back?`
    : `Give ${numberText(credits)} ${currency} more as an adjustment?`;
}
