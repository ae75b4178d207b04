import type { Entry as LedgerEntry } from '../../api-types.js';
import { dateText, numberText, textOf, timeText } from '../../format.js';
import { Button, CopyableId } from '../../parts/buttons.js';
import { TextField } from '../../parts/form.js';
import { Icon } from '../../parts/icon.js';
import { MenuButton, type MenuItem } from '../../parts/overlays.js';
import { Attention, Badge, Empty, Fault, Figures, Loaded, Time } from '../../parts/parts.js';
import { askItem, type Column, None, TableCard } from '../../parts/table.js';
import { change } from '../../server.js';
import { KIND_TEXTS } from '../../usage/usage-data.js';
import { afterChange, useData, usePages } from '../../use-data.js';
import { type Account, accountState } from '../account-list.js';
import { AreaPage, counted, linkTo, type Numbers, type Said, understood } from '../area-page.js';
import { AppsAndKeys } from './apps-and-keys.js';
import { useCredits } from './credits.js';
import { PeopleCard } from './people-card.js';

type Shared = 'sequence' | 'kind' | 'credits' | 'available_change' | 'generation_id' | 'reason' | 'credential_name';

interface Entry extends Pick<LedgerEntry, Shared> {
  readonly at: string;
  readonly available_after: number;
  /** The operator who made the entry in this area. */
  readonly operator_email?: string;
}

/** One account: its balance, ledger, Apps, keys and people. */
export function AccountPage({ id }: { id: string }) {
  const path = `/operator/accounts/${encodeURIComponent(id)}`;
  const data = useData<{ readonly account: Account }>(path);
  const entries = usePages<'entries', Entry>(`${path}/entries`, 'entries');
  const changed = async (): Promise<void> => void (await Promise.all([data.reload(), entries.reload()]));
  const said = afterChange(changed, 'page-title');
  const askForCredits = useCredits(path, changed, said);
  return (
    <AreaPage title={data.value?.account.name ?? 'Account'} above={{ page: 'operator-accounts', text: 'Accounts' }}>
      <Loaded data={data} what="the account">
        {({ account }) => (
          <>
            <div class="page-head">
              <div class="row wrap grow">
                {accountState(account)}
                <span class="small muted">{`Created ${dateText(account.created_at)}`}</span>
                <CopyableId id={account.account_id} what="account id" />
              </div>
              {account.erased_at === undefined ? (
                <div class="row wrap">
                  <Button kind="primary" onClick={() => askForCredits(account, 'grants')}>
                    Grant credits…
                  </Button>
                  <Button icon="scale" onClick={() => askForCredits(account, 'adjustments')}>
                    Adjust credits…
                  </Button>
                  <MenuButton
                    label="More actions"
                    class="button square"
                    button={<Icon of="ellipsis" size={14} />}
                    items={actsOf(account, path, said)}
                  />
                </div>
              ) : null}
            </div>
            {account.erased_at === undefined ? (
              <Fault
                text={
                  account.suspended_at &&
                  `Suspended since ${timeText(account.suspended_at)}: its keys are refused, and nothing can be spent.`
                }
              />
            ) : (
              <ErasureState id={account.account_id} />
            )}
            <Figures figures={figuresOf(account)} />
            <AppsAndKeys path={path} account={account} />
            <PeopleCard path={path} />
            <TableCard
              id="ledger"
              title="Ledger"
              note={`Every movement of ${account.currency}, newest first`}
              pages={entries}
              what="entries"
              idOf={({ sequence }) => String(sequence)}
              columns={ENTRY_COLUMNS}
              empty={<Empty icon="receipt-text" title="No entries yet" text="Grant credits to begin." />}
            />
          </>
        )}
      </Loaded>
    </AreaPage>
  );
}

function figuresOf(account: Account) {
  return [
    { name: 'Available', value: numberText(account.available_credits), note: `${account.currency} to spend now` },
    {
      name: 'Reserved',
      value: numberText(account.reserved_credits),
      note: account.open_holds === 0 ? 'Nothing is open' : `For ${counted(account.open_holds, 'open generation')}`,
    },
    { name: 'Charged', value: numberText(account.spent_credits), note: 'For what was delivered' },
    { name: 'Granted', value: numberText(account.issued_credits), note: 'In all, with adjustments' },
  ];
}

const ENTRY_COLUMNS: readonly Column<Entry>[] = [
  ['Entry', ({ kind }) => <Badge look="plain">{KIND_TEXTS[kind]}</Badge>],
  ['Time', ({ at }) => <Time at={at} />, 'muted nowrap'],
  [
    'For',
    ({ generation_id: id, reason = '' }) => (
      <div>
        {id === undefined ? null : linkTo('operator-queue', 'Generation', id)}
        {id === undefined ? reason : <span class="muted">{` ${reason}`}</span>}
      </div>
    ),
  ],
  ['By', (entry) => entry.operator_email ?? entry.credential_name ?? <None />],
  [
    'Amount',
    // An adjustment is shown with its sign; a charge moves credits that were already reserved.
    (entry) => numberText(entry.kind === 'adjustment' ? entry.available_change : entry.credits),
    'number',
  ],
  ['Available after', (entry) => numberText(entry.available_after), 'number'],
];

function actsOf(account: Account, path: string, said: Said): readonly MenuItem[] {
  const { name, open_holds: open, suspended_at: suspendedAt } = account;
  return [
    askItem('Rename…', 'pencil', {
      title: `Rename “${name}”`,
      text: 'People of the account see its name.',
      isHarmless: true,
      doIt: 'Rename account',
      fields: <TextField label="New name" name="name" required maxLength={100} defaultValue={name} />,
      act: (form) => change(`${path}/rename`, { name: textOf(form, 'name') }),
      done: () => said('The account is renamed.'),
    }),
    suspendedAt === undefined
      ? askItem('Suspend…', 'ban', {
          title: `Suspend “${name}”?`,
          text: 'Its keys are refused within seconds, and nothing is accepted for it until you resume it.',
          doIt: 'Suspend account',
          fields: (
            <label class="check">
              <input type="checkbox" name="cancel" />
              <span>{`Cancel its open generations too (${numberText(open)})`}</span>
            </label>
          ),
          act: (form) => change<Suspended>(`${path}/suspend`, { cancel_work: form.has('cancel') }),
          done: ({ work }) => said(`The account is suspended.${workText(work)}`),
        })
      : askItem('Resume…', 'play', {
          title: `Resume “${name}”?`,
          text: 'Its keys work again within seconds, and it can spend.',
          isHarmless: true,
          doIt: 'Resume account',
          act: () => change(`${path}/resume`),
          done: () => said('The account is resumed.'),
        }),
    askItem('Erase a trace…', 'eraser', {
      title: 'Erase everything with one client_trace_id?',
      text: 'The generations of this account that have it are removed with their prompts, outputs and reference uploads, and it is removed from the ledger. What is open is cancelled. Credits stay as they are.',
      doIt: 'Erase trace',
      fields: (
        <>
          <TextField label="client_trace_id" name="client_trace_id" required maxLength={128} />
          {understood()}
        </>
      ),
      act: (form) =>
        change<Erasure>(`${path}/erase-trace`, { client_trace_id: textOf(form, 'client_trace_id'), is_final: true }),
      done: ({ erasure }) => said(`The trace is being erased. The erasure has the id ${erasure.erasure_id}.`),
    }),
    askItem('Erase account…', 'trash', {
      title: `Erase “${name}”?`,
      text: 'Its name, people, keys, generations with prompts and outputs, uploads, webhooks, and the reasons and trace ids of its ledger are removed. What is open is cancelled. Amounts, times and ids of the ledger stay. Credits that are left can no longer be used.',
      doIt: 'Erase account',
      fields: understood(),
      act: () => change(`${path}/erase`, { is_final: true }),
      done: () => said('The account is being erased, and accepts nothing any more.'),
    }),
  ];
}

/** The result of cancelling the open generations of an account. */
interface Suspended {
  readonly work?: Numbers<'cancelled' | 'stopping' | 'unfinished'>;
}

function workText(work: Suspended['work']): string {
  if (work === undefined) return '';
  const { cancelled, stopping, unfinished } = work;
  const open = unfinished === 0 ? '' : ` ${counted(unfinished, 'reservation')} without a generation will be released.`;
  return ` ${counted(cancelled, 'generation')} cancelled, ${numberText(stopping)} stopping.${open}`;
}

/** How far an erasure is: first stored content is removed, and an hour later what arrived late. */
interface Erasure {
  readonly erasure: {
    readonly erasure_id: string;
    readonly requested_at: string;
    readonly erased_at?: string;
    readonly completed_at?: string;
  };
}

function ErasureState({ id }: { id: string }) {
  return (
    <Loaded data={useData<Erasure>(`/operator/erasures/${id}`, { everyMs: 5_000 })} what="the erasure">
      {({ erasure: { requested_at: requested, erased_at: erased, completed_at: completed } }) => (
        <Attention>
          {erased === undefined
            ? `The account is being erased, since ${timeText(requested)}.`
            : `The account is erased, since ${timeText(completed ?? erased)}.${completed === undefined ? ' Late remains are removed an hour later.' : ''}`}
        </Attention>
      )}
    </Loaded>
  );
}
