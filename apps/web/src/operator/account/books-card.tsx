import { useRef, useState } from 'preact/hooks';
import { announce } from '../../announce.js';
import { dateText, numberText, textOf, timeText } from '../../format.js';
import { Card, Fact, Figures, focusOn, Loaded, PageLink } from '../../parts/parts.js';
import { change, RequestFailed } from '../../server.js';
import { ActButton, type ActFailure, FailureNote, failureOf } from '../act-button.js';
import { type Account, counted, type Entry, type Operated, type Suspended } from '../server-types.js';
import { hrefOfPlace, MoreButton, type Pages } from '../use-pages.js';

interface BooksCardProps {
  readonly account: Account;
  readonly path: string;
  readonly changed: () => Promise<void>;
  readonly refused: () => void;
}

/** The account's credits, and whether it may spend them. */
export function BooksCard({ account, path, changed, refused }: BooksCardProps) {
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
  const done = async (sentence: string): Promise<void> => {
    await changed();
    announce(sentence);
    focusOn('books');
  };
  return (
    <Card id="books" title={account.name} note={`Created ${dateText(account.created_at)}, in ${account.currency}.`}>
      {account.suspended_at === undefined ? null : (
        <p class="fault">{`Suspended since ${timeText(account.suspended_at)}: its keys are refused, and nothing can be spent.`}</p>
      )}
      <Figures figures={figures} isNarrow />
      <dl class="facts">
        <Fact name="Account id" text={account.account_id} />
      </dl>
      <div class="actions below">
        <Rename account={account} path={path} done={done} refused={refused} />
        {account.suspended_at === undefined ? (
          <Suspend account={account} path={path} done={done} refused={refused} />
        ) : (
          <Resume account={account} path={path} done={done} refused={refused} />
        )}
      </div>
    </Card>
  );
}

interface ActProps extends Pick<BooksCardProps, 'account' | 'path' | 'refused'> {
  readonly done: (sentence: string) => Promise<void>;
}

function Rename({ account, path, done, refused }: ActProps) {
  return (
    <ActButton
      label="Rename"
      title={`Rename “${account.name}”`}
      consequence="People of the account see its name."
      doIt="Rename"
      act={(form) => change(`${path}/rename`, { name: textOf(form, 'name') })}
      done={() => done('The account is renamed.')}
      refused={refused}
    >
      <label>
        New name
        <input name="name" required maxLength={100} defaultValue={account.name} />
      </label>
    </ActButton>
  );
}

function Suspend({ account, path, done, refused }: ActProps) {
  return (
    <ActButton
      label="Suspend"
      title={`Suspend “${account.name}”?`}
      consequence="Nothing is accepted for it any more, and its keys are refused within seconds, until it is resumed."
      doIt="Suspend it"
      isDangerous
      act={(form) => change<Suspended>(`${path}/suspend`, { cancel_work: form.get('cancel') === 'yes' })}
      done={({ work }) => done(`The account is suspended.${workText(work)}`)}
      refused={refused}
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

function Resume({ account, path, done, refused }: ActProps) {
  return (
    <ActButton
      label="Resume"
      title={`Resume “${account.name}”?`}
      consequence="Its keys work again within seconds, and it can spend."
      doIt="Resume it"
      act={() => change(`${path}/resume`)}
      done={() => done('The account is resumed.')}
      refused={refused}
    />
  );
}

interface CreditsFormProps {
  readonly account: Account;
  readonly path: string;
  readonly changed: () => Promise<void>;
  readonly refused: () => void;
}

/** The operation to be confirmed. */
interface Asked {
  readonly kind: 'grants' | 'adjustments';
  readonly credits: number;
  readonly reason: string;
}

/** Grants credits to an account or adjusts them, after a preview of the outcome. */
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
 * One id identifies this form until it has succeeded: whatever is clicked, and whichever response is lost, the
 * operation happens once.
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

interface LedgerProps {
  readonly entries: Pages<'entries', Entry, { readonly entries: readonly Entry[] }>;
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
        {() =>
          entries.items.length === 0 ? (
            <p class="empty">There are no entries yet. Grant credits above.</p>
          ) : (
            <>
              <ul class="rows dense">
                {entries.items.map((entry) => (
                  <EntryRow key={entry.sequence} entry={entry} />
                ))}
              </ul>
              <MoreButton pages={entries} what="entries" />
            </>
          )
        }
      </Loaded>
    </Card>
  );
}

/** An operator's adjustment is shown with its sign; a charge moves credits that were already reserved. */
function amountText({ kind, credits, available_change: changed }: Entry): string {
  return numberText(kind === 'adjustment' ? changed : credits);
}

function EntryRow({ entry }: { readonly entry: Entry }) {
  return (
    <li>
      <div class="row-head">
        <h3>{`${KINDS[entry.kind]} ${amountText(entry)}`}</h3>
        <span class="quiet">{timeText(entry.at)}</span>
      </div>
      <dl class="facts">
        <Fact name="Available then" text={numberText(entry.available_after)} />
        {entry.reason === undefined || entry.reason === '' ? null : <Fact name="Reason" text={entry.reason} />}
        {entry.operator_email === undefined ? null : <Fact name="By" text={entry.operator_email} />}
        {entry.credential_name === undefined ? null : <Fact name="With" text={entry.credential_name} />}
        {entry.generation_id === undefined ? null : (
          <div>
            <dt>Generation</dt>
            <dd>
              <PageLink href={hrefOfPlace({ name: 'work', id: entry.generation_id })}>{entry.generation_id}</PageLink>
            </dd>
          </div>
        )}
      </dl>
    </li>
  );
}
