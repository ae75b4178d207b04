import { useRef, useState } from 'preact/hooks';
import { dateText, numberText, textOf, timeText } from '../../format.js';
import { MoreButton } from '../../parts/buttons.js';
import { Card, Facts, Figures, Loaded, Row, Rows } from '../../parts/parts.js';
import { change, codeOf, Explained } from '../../server.js';
import { afterChange, type Pages } from '../../use-data.js';
import { ActButton, FailureNote, useAct } from '../act-button.js';
import { type Account, counted, type Entry, type Operated, type Suspended } from '../server-types.js';
import { linkTo } from '../places.js';

interface BooksCardProps {
  readonly account: Account;
  readonly path: string;
  readonly changed: () => Promise<void>;
}

/** The account's credits, and whether it may spend them. */
export function BooksCard({ account, path, changed }: BooksCardProps) {
  const figures = [
    { name: 'Available', value: numberText(account.available_credits), note: 'can be spent now' },
    {
      name: 'Reserved',
      value: numberText(account.reserved_credits),
      note: account.open_holds === 0 ? 'nothing is open' : `for ${counted(account.open_holds, 'open generation')}`,
    },
    { name: 'Spent', value: numberText(account.spent_credits), note: 'charged for what was delivered' },
    { name: 'Issued', value: numberText(account.issued_credits), note: 'granted in all, less corrections' },
  ];
  const done = afterChange(changed, 'books');
  return (
    <Card id="books" title={account.name} note={`Created ${dateText(account.created_at)}, in ${account.currency}.`}>
      {account.suspended_at === undefined || account.erased_at !== undefined ? null : (
        <p class="attention bad">{`Suspended since ${timeText(account.suspended_at)}: its keys are refused, and nothing can be spent.`}</p>
      )}
      <Figures figures={figures} />
      <Facts facts={[['Account id', account.account_id]]} />
      {account.erased_at === undefined ? <Acts account={account} path={path} done={done} /> : null}
    </Card>
  );
}

function Acts({ account, path, done }: ActProps) {
  return (
    <div class="row wrap">
      <Rename account={account} path={path} done={done} />
      {account.suspended_at === undefined ? (
        <Suspend account={account} path={path} done={done} />
      ) : (
        <Resume account={account} path={path} done={done} />
      )}
    </div>
  );
}

interface ActProps extends Pick<BooksCardProps, 'account' | 'path'> {
  readonly done: (sentence: string) => Promise<void>;
}

function Rename({ account, path, done }: ActProps) {
  return (
    <ActButton
      label="Rename"
      isHarmless
      question={`Rename “${account.name}”`}
      consequence="People of the account see its name."
      doIt="Rename"
      action={(form) => change(`${path}/rename`, { name: textOf(form, 'name') })}
      done={() => done('The account is renamed.')}
    >
      <label>
        New name
        <input name="name" required maxLength={100} defaultValue={account.name} />
      </label>
    </ActButton>
  );
}

function Suspend({ account, path, done }: ActProps) {
  return (
    <ActButton
      label="Suspend"
      question={`Suspend “${account.name}”?`}
      consequence="Nothing is accepted for it any more, and its keys are refused within seconds, until it is resumed."
      doIt="Suspend it"
      action={(form) => change<Suspended>(`${path}/suspend`, { cancel_work: form.get('cancel') === 'yes' })}
      done={({ work }) => done(`The account is suspended.${workText(work)}`)}
    >
      <label>
        <input type="checkbox" name="cancel" value="yes" />
        {` Cancel what is open, too (${counted(account.open_holds, 'generation')})`}
      </label>
    </ActButton>
  );
}

function workText(work: Suspended['work']): string {
  if (work === undefined) return '';
  const { cancelled, stopping, unfinished } = work;
  const open = unfinished === 0 ? '' : ` ${counted(unfinished, 'hold')} without a generation will be released.`;
  return ` ${counted(cancelled, 'generation')} cancelled, ${numberText(stopping)} stopping.${open}`;
}

function Resume({ account, path, done }: ActProps) {
  return (
    <ActButton
      label="Resume"
      isHarmless
      question={`Resume “${account.name}”?`}
      consequence="Its keys work again within seconds, and it can spend."
      doIt="Resume it"
      action={() => change(`${path}/resume`)}
      done={() => done('The account is resumed.')}
    />
  );
}

/** The operation to be confirmed. */
interface Asked {
  readonly kind: 'grants' | 'adjustments';
  readonly credits: number;
  readonly reason: string;
}

/** Grants credits to an account or adjusts them, after a preview of the outcome. */
export function CreditsForm({ account, path, changed }: BooksCardProps) {
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
  const said = afterChange(changed, 'give-credits');
  const done = (sentence: string): Promise<void> => {
    dialog.current?.close();
    form.current?.reset();
    return said(sentence);
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
        />
      </dialog>
    </Card>
  );
}

interface ConfirmationProps extends BooksCardProps {
  readonly asked: Asked | undefined;
  readonly close: () => void;
  readonly done: (sentence: string) => Promise<void>;
}

/**
 * One id identifies this form until it has succeeded: whatever is clicked, and whichever response is lost, the
 * operation happens once.
 */
function Confirmation({ account, path, asked, close, done, changed }: ConfirmationProps) {
  const [operationId, setOperationId] = useState(() => crypto.randomUUID());
  const { isBusy, fault, error, run } = useAct();
  const [tried, setTried] = useState<Asked>();
  if (asked === undefined) return null;
  const { kind, credits, reason } = asked;
  const confirm = (): Promise<boolean> => {
    setTried(asked);
    return run(async () => {
      try {
        const sent = { operation_id: operationId, credits, reason };
        const { earlier_at: earlierAt } = await change<Operated>(`${path}/${kind}`, sent);
        setOperationId(crypto.randomUUID());
        await done(
          earlierAt === undefined
            ? 'It is in the ledger.'
            : `It went through at ${timeText(earlierAt)} already, and is in the ledger once.`,
        );
      } catch (refusal) {
        if (codeOf(refusal) !== 'CONFLICT') throw refusal;
        setOperationId(crypto.randomUUID());
        await changed();
        throw new Explained(EARLIER);
      }
    });
  };
  return (
    <article>
      <h3>{titleOf(asked, account)}</h3>
      <p>
        {`“${account.name}” has ${numberText(account.available_credits)} available now, and `}
        <strong>{numberText(account.available_credits + credits)}</strong>
        {' afterwards. An entry of the ledger cannot be removed.'}
      </p>
      <p class="small muted">{`Reason: ${reason}`}</p>
      <FailureNote fault={tried === asked ? fault : undefined} error={error} />
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

interface LedgerProps {
  readonly entries: Pages<Entry, { readonly entries: readonly Entry[] }>;
  readonly currency: string;
}

const KINDS: Readonly<Record<Entry['kind'], string>> = {
  grant: 'Grant',
  adjustment: 'Adjustment',
  hold: 'Hold',
  charge: 'Charge',
  release: 'Release',
};

/** The entries of the account, the newest first. */
export function Ledger({ entries, currency }: LedgerProps) {
  return (
    <Card id="ledger" title="Ledger" note={`The newest entry first, in ${currency}.`}>
      <Loaded data={entries} what="the ledger">
        {() => (
          <>
            <Rows items={entries.items} empty="There are no entries yet. Grant credits above.">
              {(entry) => <EntryRow key={entry.sequence} entry={entry} />}
            </Rows>
            <MoreButton pages={entries} what="entries" />
          </>
        )}
      </Loaded>
    </Card>
  );
}

/** An operator's adjustment is shown with its sign; a charge moves credits that were already reserved. */
function amountText({ kind, credits, available_change: changed }: Entry): string {
  return numberText(kind === 'adjustment' ? changed : credits);
}

function EntryRow({ entry }: { readonly entry: Entry }) {
  const { generation_id: id, reason } = entry;
  return (
    <Row
      title={`${KINDS[entry.kind]} ${amountText(entry)}`}
      actions={<span class="small muted">{timeText(entry.at)}</span>}
      facts={[
        ['Available then', numberText(entry.available_after)],
        ['Reason', reason === '' ? undefined : reason],
        ['By', entry.operator_email],
        ['With', entry.credential_name],
        ['Generation', id && linkTo('operator-queue', id, id)],
      ]}
    />
  );
}
